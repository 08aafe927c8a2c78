/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tokens.h"
#include "base/util.h"

static const char every_kind[] =
	"The HTTPServer's do_it(x1,\t\"a b\") == 3.14159;\r\n\n    // ----- !\n"
	"na\xc3\xafve Vi\xe1\xbb\x87t \xd0\xbc\xd0\xb8\xd1\x80 \xe4\xb8\xad\xe6\x96\x87"
	"\xf0\x9f\x98\x80 \xe2\x94\x80\xe2\x94\x80 end";
/* Stray, overlong, truncated, a surrogate, beyond Unicode, never used. */
static const char broken[] =
	"a\x80\xbf b\xc0\xaf c\xe4\xb8 d\xed\xa0\x80 e\xf4\x90\x80\x80 \xff\xfe\xf0\x9f\x98";
static const char with_nul[] = "a\0b\0\0\0c \0";

static const struct {
	const char *data;
	size_t len;
} hard[] = {
	{ every_kind, sizeof(every_kind) - 1 },
	{ broken, sizeof(broken) - 1 },
	{ with_nul, sizeof(with_nul) - 1 },
};

static uint64_t count(const char *text)
{
	return ofs_tokens_count(text, strlen(text));
}

/* Returns `len` bytes of `pattern` repeated, without a NUL. */
static char *repeat(const char *pattern, size_t len)
{
	size_t period = strlen(pattern);
	char *text = ofs_alloc(len);

	for (size_t i = 0; i < len; i++)
		text[i] = pattern[i % period];
	return text;
}

Test(base_tokens, nothing_has_none)
{
	struct ofs_tokens t;

	ofs_tokens_init(&t);
	cr_assert_eq(ofs_tokens_total(&t), 0);
	ofs_tokens_add(&t, NULL, 0);
	ofs_tokens_add(&t, "", 0);
	cr_assert_eq(ofs_tokens_total(&t), 0);
	cr_assert_eq(ofs_tokens_count(NULL, 0), 0);
}

Test(base_tokens, every_byte_alone_is_one_or_two)
{
	for (unsigned int i = 0; i <= UINT8_MAX; i++) {
		uint8_t byte = (uint8_t)i;
		uint64_t n = ofs_tokens_count(&byte, 1);

		cr_assert(n == 1 || n == 2, "byte %u: %llu", i, (unsigned long long)n);
	}
}

Test(base_tokens, common_words_are_one_each)
{
	cr_assert_eq(count("the"), 1);
	cr_assert_eq(count("hello"), 1);
	cr_assert_eq(count("hello world"), 2);
}

/* Counts by o200k_base, and how far the estimate may be off in percent. */
Test(base_tokens, is_near_a_real_tokenizer)
{
	static const struct {
		const char *text;
		uint64_t real;
		unsigned int percent;
	} known[] = {
		{ "The quick brown fox jumps over the lazy dog. A filesystem keeps what an agent reads, "
		  "and gives it back when it is asked for; nothing that was written is lost when the "
		  "machine stops.",
		  39, 10 },
		{ "static int read_all(struct buffer *b, int fd)\n{\n\tssize_t n;\n\n\tdo {\n"
		  "\t\tn = read(fd, b->data + b->len, CHUNK_SIZE);\n\t\tif (n < 0)\n"
		  "\t\t\treturn -errno;\n\t\tb->len += (size_t)n;\n\t} while (n > 0);\n"
		  "\treturn 0;\n}\n",
		  75, 10 },
		{ "{\"id\": 4711, \"name\": \"Miller\", \"tags\": [\"urgent\", \"billing\"], "
		  "\"address\": {\"city\": \"Boston\", \"zip\": \"02108\"}, \"total\": 1234.50, "
		  "\"paid\": false}",
		  53, 10 },
		{ "-rw-r--r-- 1 root root   725 Nov 22 18:39 README.md\n"
		  "-rwxr-xr-x 1 root root 41920 Mar  5 09:12 configure\n"
		  "drwxr-xr-x 4 root root  4096 Jan 30 23:01 src\n",
		  69, 10 },
		{ "这个程序把文件保存在磁盘上，并在需要时读取它们。如果文件不存在，则返回错误。",
		  23, 35 },
		{ "Программа хранит файлы на диске и читает их, когда это необходимо. "
		  "Если файла нет, она возвращает ошибку.",
		  28, 25 },
		{ "Das Programm legt die Dateien auf der Festplatte ab und liest sie, wenn sie "
		  "gebraucht werden.",
		  19, 15 },
		{ "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 35, 15 },
		{ "getUserNameFromRequest(httpServletRequest).toString().trim();", 14, 15 },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++) {
		uint64_t n = count(known[i].text);
		uint64_t off = n > known[i].real ? n - known[i].real : known[i].real - n;

		cr_assert_leq(off * 100, known[i].real * known[i].percent, "%llu, not %llu: %s",
			      (unsigned long long)n, (unsigned long long)known[i].real,
			      known[i].text);
	}
}

Test(base_tokens, digits_are_cut_every_three)
{
	OFS_FREE char *digits = repeat("0123456789", 3000);

	cr_assert_eq(ofs_tokens_count(digits, 3), 1);
	cr_assert_eq(ofs_tokens_count(digits, 4), 2);
	cr_assert_eq(ofs_tokens_count(digits, 3000), 1000);
}

/* A run costs few tokens, but in proportion to its length. */
Test(base_tokens, runs_cost_little_and_never_nothing)
{
	static const char *const runs[] = {
		" ", "\n", "-", "=", "\t", ".", "a", "A", "\xe2\x94\x80"
	};
	const size_t large = 300000;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(runs); i++) {
		OFS_FREE char *text = repeat(runs[i], large);

		cr_assert_gt(ofs_tokens_count(text, large), large / 1000, "run %zu", i);
		cr_assert_lt(ofs_tokens_count(text, large), large / 5, "run %zu", i);
	}
}

Test(base_tokens, cuts_into_two_chunks_change_nothing)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(hard); i++) {
		uint64_t whole = ofs_tokens_count(hard[i].data, hard[i].len);

		for (size_t at = 0; at <= hard[i].len; at++) {
			struct ofs_tokens t;

			ofs_tokens_init(&t);
			ofs_tokens_add(&t, hard[i].data, at);
			cr_assert_eq(ofs_tokens_total(&t), ofs_tokens_count(hard[i].data, at));
			ofs_tokens_add(&t, hard[i].data + at, hard[i].len - at);
			cr_assert_eq(ofs_tokens_total(&t), whole, "text %zu, cut at %zu", i, at);
		}
	}
}

Test(base_tokens, single_bytes_never_lower_the_total)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(hard); i++) {
		struct ofs_tokens t;
		uint64_t last = 0;

		ofs_tokens_init(&t);
		for (size_t at = 0; at < hard[i].len; at++) {
			ofs_tokens_add(&t, hard[i].data + at, 1);
			cr_assert_geq(ofs_tokens_total(&t), last, "text %zu, byte %zu", i, at);
			cr_assert_gt(ofs_tokens_total(&t), 0);
			last = ofs_tokens_total(&t);
		}
		cr_assert_eq(last, ofs_tokens_count(hard[i].data, hard[i].len));
	}
}

/* All pairs of bytes, and noise: nothing is read beyond a table. */
Test(base_tokens, any_bytes_are_a_text)
{
	const size_t len = (size_t)1 << 17;
	OFS_FREE uint8_t *pairs = ofs_alloc(len), *noise = ofs_alloc(len);
	uint64_t state = 1, n;
	struct ofs_tokens t;

	for (size_t i = 0; i < len; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		noise[i] = (uint8_t)(state >> 56);
		pairs[i] = (uint8_t)(i % 2 ? i / 2 : i / 2 >> 8);
	}
	cr_assert_gt(ofs_tokens_count(pairs, len), 0);
	n = ofs_tokens_count(noise, len);
	cr_assert(n > len / 2 && n < 3 * len, "%llu", (unsigned long long)n);
	ofs_tokens_init(&t);
	for (size_t at = 0, chunk; at < len; at += chunk) {
		chunk = OFS_MIN(noise[at] % 7 + (size_t)1, len - at);
		ofs_tokens_add(&t, noise + at, chunk);
	}
	cr_assert_eq(ofs_tokens_total(&t), n);
}

Test(base_tokens, bytes_that_are_no_utf8_are_counted)
{
	cr_assert_gt(count("word\xff\xff\xff\xff"), count("word"));
	/* A truncated character counts, and so does what follows. */
	cr_assert_gt(count("\xe4\xb8word"), count("word"));
	cr_assert_gt(count("\xe4\xb8\xe4\xb8\xad"), count("\xe4\xb8\xad"));
	/* One that may still be completed does not, unless it is alone. */
	cr_assert_eq(count("word\xe4\xb8"), count("word"));
	cr_assert_eq(count("\xe4"), 1);
}

Test(base_tokens, sums_have_64_bits)
{
	struct ofs_tokens t, twice;
	uint64_t before, more;

	ofs_tokens_init(&t);
	ofs_tokens_add(&t, every_kind, sizeof(every_kind) - 1);
	t.cost += UINT64_C(1) << 60;
	before = ofs_tokens_total(&t);
	cr_assert_gt(before, UINT32_MAX);
	twice = t;
	ofs_tokens_add(&twice, every_kind, sizeof(every_kind) - 1);
	more = ofs_tokens_total(&twice) - before;
	cr_assert(more > 20 && more < 100, "%llu", (unsigned long long)more);
}
