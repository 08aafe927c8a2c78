/* SPDX-License-Identifier: MIT */
/*
 * An input is a text in which bytes from 0xc0 on stand for pieces of secrets. This makes inputs
 * easy to find, and none looks like a secret itself. Secrets are found inside the text, in order. A
 * redacted text has no secret, keeps its lines, and is cut between characters.
 */
#include "base/buf.h"
#include "base/redact.h"
#include "base/redact_rules.h"
#include "base/util.h"
#include "fuzz.h"

#define FIRST_PIECE 0xc0

static const char *const pieces[] = {
	"AK"
	"IA",
	"Q7XPB3ZKM2VNC5RT",
	"gh"
	"p_",
	"x7Gq2LmZ9aRt",
	"4KpW8sYcB1nV",
	"sk"
	"-",
	"ant-api03-",
	"AI"
	"za",
	"xo"
	"xb-",
	"20394857163-",
	"github"
	"_pat_",
	"gl"
	"pat-",
	"ya"
	"29.",
	"S"
	"G.",
	"kind: Secret\ndata:\n a: ",
	"py"
	"pi-AgE",
	"h"
	"f_",
	"9f86d081884c7d65",
	"9A2FEAA0C55AD015",
	"S"
	"K",
	"MT"
	"Iz",
	"ey"
	"J",
	":A"
	"A",
	"12345678",
	"hooks.sl"
	"ack.com/services/",
	"disc"
	"ord.com/api/webhooks/",
	"sk"
	"_live_",
	"-----BEG"
	"IN ",
	"-----E"
	"ND ",
	"RSA ",
	"PRIVATE KEY-----",
	" BLOCK-----",
	"PRIVATE KEY",
	"MIIEowIBAAKCAQEAx7Gq2LmZ9aRt4KpW8sYcB1nVMIIEowIBAAKCAQEAx7Gq2Lm",
	"\n",
	"\\n",
	"Proc-Type: 4\n",
	"   12\t",
	"password",
	"secret",
	"token",
	"api_key",
	"Cookie: ab=",
	"_hash",
	"aws_secret_access_key",
	"curl -u user:",
	"Authorization",
	"Bearer ",
	" -U eve:",
	"PHPSESSID",
	"=",
	": ",
	"\": \"",
	"\\\"",
	"\"]",
	"'",
	"https://",
	"user:",
	"@",
	"example",
	"${",
	"[redacted: ",
	"\033[1m",
	"%3D",
};

_Static_assert(OFS_ARRAY_SIZE(pieces) == 256 - FIRST_PIECE, "a byte for each piece");

/* Appends the text that the input stands for. */
static void expand(const uint8_t *data, size_t size, struct ofs_buf *ret)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] < FIRST_PIECE)
			ofs_buf_append(ret, &data[i], 1);
		else
			ofs_buf_append_str(ret, pieces[data[i] - FIRST_PIECE]);
	}
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

static int check_spans(const char *text, size_t len)
{
	struct ofs_redact_scan scan;
	struct ofs_secret secret;
	size_t end = 0;
	int n = 0;

	ofs_redact_scan_init(&scan, text, len);
	for (; ofs_redact_scan_next(&scan, &secret); n++) {
		FUZZ_ASSERT(secret.len && secret.start >= end);
		FUZZ_ASSERT(secret.start <= len && secret.len <= len - secret.start);
		FUZZ_ASSERT(secret.kind && secret.kind[0]);
		end = secret.start + secret.len;
	}
	FUZZ_ASSERT(!ofs_redact_scan_next(&scan, &secret));
	return n;
}

static void check_line(const char *text, size_t len)
{
	size_t size = len / 2 + 1;
	OFS_FREE char *line = fuzz_copy(text, size);

	ofs_redact_line(line, size);
	FUZZ_ASSERT(memchr(line, '\0', size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf once = OFS_BUF_INIT, twice = OFS_BUF_INIT;
	OFS_FREE char *text = NULL, *exact = NULL;
	int n, all;

	expand(data, size, &input);
	size = input.len;
	text = fuzz_copy(input.data, size);
	n = check_spans(text, size);
	all = ofs_redact_text(&once, text, size);
	FUZZ_ASSERT(all || !n);
	FUZZ_ASSERT(count_lines(text, size) == count_lines((char *)once.data, once.len));
	exact = fuzz_copy(once.data, once.len);
	FUZZ_ASSERT(ofs_redact_text(&twice, exact, once.len) == 0);
	FUZZ_ASSERT(twice.len == once.len &&
		    (!once.len || !memcmp(once.data, twice.data, once.len)));
	for (size_t limit = 0; limit <= once.len; limit += once.len / 8 + 1)
		FUZZ_ASSERT(ofs_redact_cut(exact, once.len, limit) <= limit);
	if (size)
		check_line(text, size);
	return 0;
}
