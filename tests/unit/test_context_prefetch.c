/* SPDX-License-Identifier: MIT */
/* Slices of stored texts that answer a question, from a store that is not mounted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/manage/prefetch.h"

#define SOURCES_MAX 64

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_target_options options;
static struct ofs_access store_access;
static struct ofs_shelf shelf;
static struct ofs_error err;
static struct ofs_shelved put[SOURCES_MAX];
static struct ofs_mark sources[SOURCES_MAX];
static size_t n;
static struct ofs_buf out;

static void begin(void)
{
	cr_assert(mkdtemp(store));
	options.store = store;
	ofs_access_init(&store_access, &options);
	cr_assert_eq(ofs_access_open(&store_access, true, &err), 0, "%s", err.text);
	cr_assert_eq(ofs_shelf_init(&shelf, &store_access, NULL, "chat", &err), 0, "%s", err.text);
}

static void finish(void)
{
	char command[64];

	for (size_t i = 0; i < n; i++)
		ofs_shelved_finish(&put[i]);
	ofs_buf_finish(&out);
	ofs_shelf_finish(&shelf);
	ofs_access_finish(&store_access);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(context_prefetch, .init = begin, .fini = finish);

static void add(const void *text, size_t len)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;

	ofs_spool_wrap(&spool, text, len);
	cr_assert_eq(ofs_shelf_put_text(&shelf, &spool, "result", &err, &put[n]), 0, "%s",
		     err.text);
	sources[n] = put[n].mark;
	n++;
}

/* Adds a text of lines "row I of NAME", line number `at` of which is replaced (0: none). */
static void add_lines(const char *name, unsigned lines, unsigned at, const char *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (unsigned i = 1; i <= lines; i++) {
		if (i == at)
			ofs_buf_printf(&text, "%s\n", line);
		else
			ofs_buf_printf(&text, "row %u of %s\n", i, name);
	}
	add(text.data, text.len);
}

static int ask(const char *query)
{
	int r;

	out.len = 0;
	r = ofs_prefetch_write(&shelf, sources, n, query, strlen(query), &out);
	ofs_buf_append(&out, "", 1);
	out.len--;
	return r;
}

static bool says(const char *what)
{
	return strstr((const char *)out.data, what) != NULL;
}

/* Expects the slice at *p to hold the lines that its path names, and moves *p to its end. */
static void check_slice(const char **p, const char *text)
{
	unsigned long long from, to, lines = 0;
	char path[256];
	const char *body, *end, *start = text, *stop;

	cr_assert_eq(sscanf(*p, "<slice path=\"%255[^:]:%llu-%llu\">", path, &from, &to), 3, "%s",
		     *p);
	cr_expect(to >= from && to - from < OFS_PREFETCH_LINES);
	body = strchr(*p, '\n') + 1;
	end = strstr(body, "</slice>\n");
	for (lines = 1; lines < from; lines++)
		start = strchr(start, '\n') + 1;
	for (stop = start; lines <= to; lines++)
		stop = strchr(stop, '\n') + 1;
	cr_expect_eq(end - body, stop - start);
	cr_expect_eq(memcmp(body, start, (size_t)(stop - start)), 0);
	*p = end + strlen("</slice>\n");
}

Test(context_prefetch, finds_the_lines_that_are_asked_for)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *p;

	add_lines("alpha", 500, 0, "");
	add_lines("beta", 500, 321, "the retry limit of the scheduler is seven");
	add_lines("gamma", 500, 0, "");
	cr_assert_eq(ask("What is the retry limit of the scheduler?"), 1, "%s", out.data);
	cr_expect(says("the retry limit of the scheduler is seven"));
	cr_expect(says(put[1].path));
	cr_assert_eq(ofs_shelf_get_text(&shelf, sources[1].ref, &err, &text), 0);
	ofs_buf_append(&text, "", 1);
	p = (const char *)out.data;
	check_slice(&p, (const char *)text.data);
	cr_expect_str_empty(p);
}

Test(context_prefetch, talk_about_nothing_finds_nothing)
{
	static const char *const talk[] = {
		"",
		"thanks!",
		"ok go on",
		"Yes, please continue.",
		"Great, that looks good!",
		"?",
		"what do you think about this?",
		"no",
		"Perfect, thank you so much!",
		"   \n\t",
		"thanks, go on",
		"Sounds good, do it.",
		"hmm, why?",
		"What's next?",
		"I see. And now?",
		"yes, do the same again",
		"no, that's wrong, try another way",
		"could you please explain that once more?",
		"let's keep going!",
		"That didn't work. Are you sure?",
	};

	add_lines("thanks go on please continue great good looks", 200, 7, "ok think perfect");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(talk); i++)
		cr_expect_eq(ask(talk[i]), 0, "'%s': %s", talk[i], out.data);
}

Test(context_prefetch, plain_questions)
{
	static const struct {
		const char *fact, *query;
	} of[] = {
		{ "Hot fixes are deployed at any hour, releases on Thursdays.",
		  "when do we deploy hot fixes?" },
		{ "The job is given up after seven attempts.",
		  "ok, and after how many attempts is a job given up?" },
		{ "On May 14 the bitcoin price was 61,000 dollars.",
		  "What was the price of bitcoin in May?" },
		{ "Melanie: Our puppy Rex swallowed a sock on Sunday.",
		  "Thanks! What did Melanie's puppy swallow?" },
		{ "Segmentation fault in parse_frame() at a length of zero.",
		  "why does parseFrame crash?" },
		{ "The nightly backups failed: no space left on /var.",
		  "please tell me why the backup failed" },
		{ "ERR-4711: the quota of the project is used up", "what does ERR-4711 mean?" },
		{ "timeout_seconds = 300", "what is timeout_seconds set to?" },
		{ "cancellations within 24 hours of the booking are free",
		  "Can I cancel a booking for free?" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(of); i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%zu", i);
		add_lines(name, 400, 200 + (unsigned)i, of[i].fact);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(of); i++) {
		cr_expect_geq(ask(of[i].query), 1, "%s", of[i].query);
		cr_expect(says(of[i].fact), "%s: %s", of[i].query, out.data);
		cr_expect_eq(strstr((const char *)out.data, put[i].path) - (char *)out.data,
			     (ptrdiff_t)strlen("<slice path=\""), "%s", of[i].query);
	}
}

Test(context_prefetch, what_is_not_there_finds_nothing)
{
	add_lines("alpha", 300, 20, "the scheduler starts");
	cr_expect_eq(ask("Why does the parser reject trailing commas in nested arrays?"), 0);
	/* One word of many is no match. */
	cr_expect_eq(ask("How does the scheduler handle database migrations and rollback?"), 0);
	cr_expect_eq(ofs_prefetch_write(&shelf, NULL, 0, "scheduler", 9, &out), 0);
}

Test(context_prefetch, names_paths_and_quotes_weigh_more)
{
	add_lines("alpha", 100, 50, "def get_user_id(request):");
	add_lines("beta", 100, 60, "user id get request user id request user");
	add_lines("gamma", 100, 70, "src/tree/passage.c:12: error: expected ';'");
	add_lines("delta", 100, 80, "ValueError: Connection Reset by peer at once");
	cr_assert_geq(ask("where is get_user_id called with the request?"), 1);
	cr_expect_eq(strstr((const char *)out.data, put[0].path) - (char *)out.data,
		     (ptrdiff_t)strlen("<slice path=\""));
	cr_assert_eq(ask("fix tree/passage.c please"), 1, "%s", out.data);
	cr_expect(says("expected ';'"));
	cr_assert_eq(ask("what about `connection reset by peer`"), 1);
	cr_expect(says("ValueError"));
	cr_expect_eq(ask("what about `peer by reset connection`?"), 1); /* the words alone */
	cr_expect_eq(ask("open other/passage.py"), 0);
}

Test(context_prefetch, parts_of_names_and_plurals)
{
	add_lines("alpha", 100, 50, "class HttpRequestParser: handles chunked_bodies");
	cr_expect_eq(ask("request parsers"), 1);
	cr_expect_eq(ask("the chunked body parser"), 1);
	cr_expect_eq(ask("questing parse"), 0);
}

Test(context_prefetch, other_scripts)
{
	add_lines("alpha", 100, 50, "用户的重试次数上限是七次");
	add_lines("beta", 100, 30, "Предел повторов планировщика равен семи");
	cr_expect_eq(ask("重试次数是多少"), 1);
	cr_expect(says("上限是七次"));
	cr_expect_eq(ask("предел повторов"), 1); /* one word of two is half of the question */
	cr_expect_eq(ask("какой предел повторов планировщика"), 1);
	cr_expect(says("семи"));
}

Test(context_prefetch, at_most_three_and_not_too_long)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	for (unsigned i = 0; i < 8; i++) {
		char text[64];

		snprintf(text, sizeof(text), "the frobnicator of part %u is broken", i);
		add_lines(i % 2 ? "odd" : "even", 300 + i, 100 + i, text);
	}
	cr_expect_eq(ask("frobnicator broken"), 3);
	cr_expect_leq(out.len, 3 * 6200u);
	for (unsigned i = 0; i < 100; i++)
		ofs_buf_printf(&line,
			       "zebra crossing %u and much more of the same in a long line, "
			       "so that there are many bytes in few lines; and so on\n",
			       i);
	add(line.data, line.len);
	cr_expect_geq(ask("zebra crossing"), 1);
	cr_expect_leq(out.len, 3 * 6200u);
}

/* Half a line may say the opposite of the whole. */
Test(context_prefetch, a_line_that_is_too_long_is_left_out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (unsigned i = 0; i < 2000; i++)
		ofs_buf_printf(&text, i == 1234 ? "\"frobnicator\":%u," : "\"key\":%u,", i);
	add(text.data, text.len);
	cr_expect_eq(ask("frobnicator"), 0);
	ofs_buf_append_str(&text, "\n\"frobnicator\": 2\n");
	add(text.data, text.len);
	cr_expect_eq(ask("frobnicator"), 1);
	cr_expect(says("\n\"frobnicator\": 2\n"));
}

Test(context_prefetch, a_long_line_is_whole)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *p;

	ofs_buf_append_str(&text, "before\n");
	for (int i = 0; i < 300; i++)
		ofs_buf_printf(&text, "%s ", i == 200 ? "the zebra crossing" : "word");
	ofs_buf_append_str(&text, "\nafter\n");
	add(text.data, text.len);
	cr_assert_eq(ask("where is the zebra crossing?"), 1);
	cr_assert(says(":1-3\">"), "%s", (const char *)out.data);
	p = (const char *)out.data;
	check_slice(&p, ofs_buf_str(&text));
}

Test(context_prefetch, what_cannot_be_read_is_left_out)
{
	static const char binary[] = "frobnicator\0\1\2\3 frobnicator";
	static const char broken[] = "one\nthe frobnicator \xff\xfe is here\ntwo\n";

	add(binary, sizeof(binary));
	sources[n++] = (struct ofs_mark){ .ref = "zzzzzz" };
	cr_expect_eq(ask("frobnicator"), 0);
	put[n] = (struct ofs_shelved){ 0 };
	add(broken, strlen(broken));
	cr_expect_eq(ask("frobnicator"), 1);
	cr_expect(says("\xef\xbf\xbd\xef\xbf\xbd is here\ntwo\n</slice>"));
	cr_expect(says(":1-3\">"));
}

Test(context_prefetch, the_same_twice)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf first = OFS_BUF_INIT;

	add_lines("alpha", 200, 50, "the frobnicator");
	sources[n] = sources[0];
	put[n++] = (struct ofs_shelved){ 0 };
	add_lines("beta", 200, 150, "a frobnicator");
	cr_expect_eq(ask("frobnicator"), 2);
	ofs_buf_append(&first, out.data, out.len);
	cr_expect_eq(ask("frobnicator"), 2);
	cr_expect_eq(first.len, out.len);
	cr_expect_eq(memcmp(first.data, out.data, out.len), 0);
}

Test(context_prefetch, any_question)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf query = OFS_BUF_INIT;
	unsigned seed = 1;

	add_lines("alpha", 50, 5, "a.b.c \"d e\" `f` x::y --z_z ABC d3 \xe4\xb8\xad\xe6\x96\x87");
	for (unsigned i = 0; i < 3000; i++) {
		static const char chars[] = "ab_.:/-\"`' \nA1\xe4\xb8\xad\xe6\x96\x87\xff\xc3";
		size_t len = seed % 40;

		query.len = 0;
		for (size_t k = 0; k < len; k++) {
			seed = seed * 1103515245 + 12345;
			ofs_buf_append(&query, &chars[(seed >> 16) % (sizeof(chars) - 1)], 1);
		}
		seed = seed * 1103515245 + 12345;
		out.len = 0;
		cr_assert_geq(ofs_prefetch_write(&shelf, sources, n, (const char *)query.data,
						 query.len, &out),
			      0);
	}
}

Test(context_prefetch, many_terms_are_no_harm)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf query = OFS_BUF_INIT;

	add_lines("alpha", 50, 5, "word7 word8 word9");
	for (unsigned i = 0; i < 5000; i++)
		ofs_buf_printf(&query, "word%u some/path_%u.c \"a phrase %u\" ", i, i, i);
	cr_expect_geq(ofs_prefetch_write(&shelf, sources, n, (const char *)query.data, query.len,
					 &out),
		      0);
}
