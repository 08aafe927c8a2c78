/* SPDX-License-Identifier: MIT */
#include "context/snapshot/asked.h"

#include <string.h>

#include "base/util.h"
#include "context/snapshot/prose.h"

/* Where a prompt of a shell, or what stands in for it, is looked for. */
#define HEAD 200
#define TAIL 160
/* Characters that are a word where none are between blanks. */
#define WIDE_WORD 6
#define WORDS_MIN 3

static bool begins(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static bool has(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what)) != NULL;
}

static void trim(const char **text, size_t *len)
{
	while (*len && ofs_prose_is_blank(**text)) {
		++*text;
		--*len;
	}
	while (*len && ofs_prose_is_blank((*text)[*len - 1]))
		--*len;
}

bool ofs_asked_is_output(const char *text, size_t len)
{
	static const char *const starts[] = {
		"OBSERVATION:",	 "Observation:", "<returncode>",       "<output>",
		"<tool_result>", "[File: ",	 "Exit code",	       "EXIT CODE",
		"<observation>", "<stdout>",	 "<function_results>", "Tool output:",
	};
	static const char *const ends[] = { "\nbash-$", "\n(Current directory: " };
	const char *tail;
	size_t n;

	trim(&text, &len);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(starts); i++) {
		if (begins(text, len, starts[i]))
			return true;
	}
	n = OFS_MIN(len, (size_t)TAIL);
	tail = text + len - n;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(ends); i++) {
		/* The first message has the prompt, too, behind the task. */
		if (has(tail, n, ends[i]))
			return !has(text, len, "\nINSTRUCTIONS:");
	}
	return false;
}

bool ofs_asked_is_example(const char *text, size_t len)
{
	static const char *const words[] = { "here is a demonstration", "here is an example",
					     "here is a trajectory" };

	trim(&text, &len);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		if (ofs_prose_begins(text, len, words[i]))
			return true;
	}
	return false;
}

/* What stands between two marks. */
static bool between(const char *text, size_t len, const char *open, const char *close,
		    const char **ret, size_t *ret_len)
{
	const char *start = memmem(text, len, open, strlen(open)), *end;

	if (!start)
		return false;
	start += strlen(open);
	len -= (size_t)(start - text);
	end = memmem(start, len, close, strlen(close));
	if (!end)
		return false;
	*ret = start;
	*ret_len = (size_t)(end - start);
	trim(ret, ret_len);
	return *ret_len > 0;
}

void ofs_asked_essence(const char *text, size_t len, const char **ret, size_t *ret_len)
{
	static const struct {
		const char *open, *close;
	} marks[] = {
		{ "<pr_description>", "</pr_description>" },
		{ "<problem_statement>", "</problem_statement>" },
		{ "<issue_description>", "</issue_description>" },
		{ "<issue>", "</issue>" },
		{ "<user_query>", "</user_query>" },
		{ "<task>", "</task>" },
		{ "\nISSUE:\n", "\nINSTRUCTIONS:" },
		{ "\nTASK:\n", "\nINSTRUCTIONS:" },
	};

	bool tags = memchr(text, '<', len) != NULL;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(marks); i++) {
		if (marks[i].open[0] == '<' && !tags)
			continue;
		if (between(text, len, marks[i].open, marks[i].close, ret, ret_len))
			return;
	}
	trim(&text, &len);
	*ret = text;
	*ret_len = len;
}

/* ---- what is wanted */

/* Words of a text, up to some. */
static size_t count_words(const char *text, size_t len)
{
	size_t words = 0, wide = 0;
	bool within = false;

	for (size_t i = 0; i < len && words + wide / WIDE_WORD < 64; i++) {
		bool word = ofs_prose_is_word(text[i]) || text[i] == '\'';

		words += word && !within && (unsigned char)text[i] < 0x80;
		wide += (unsigned char)text[i] >= 0x80;
		within = word;
	}
	return words + wide / WIDE_WORD;
}

static bool begins_with_any(const char *text, size_t len, const char *const words[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ofs_prose_begins(text, len, words[i]))
			return true;
	}
	return false;
}

static bool is_thanks(const char *text, size_t len)
{
	static const char *const words[] = { "thanks",
					     "thank you",
					     "thx",
					     "that's all",
					     "bye",
					     "goodbye",
					     "great, thank",
					     "perfect, thank",
					     "no, that's all",
					     "no, thank" };

	return begins_with_any(text, len, words, OFS_ARRAY_SIZE(words));
}

static bool is_yes(const char *text, size_t len)
{
	static const char *const words[] = {
		"yes",	      "yep",
		"yeah",	      "ok",
		"okay",	      "sure",
		"go",	      "go ahead",
		"go on",      "great",
		"perfect",    "sounds good",
		"please do",  "please proceed",
		"proceed",    "continue",
		"that works", "correct",
		"agreed",     "confirmed",
		"do it",      "let's do",
		"let's go",   "let's proceed",
		"absolutely", "that's fine",
		"lgtm",	      "approved",
		"ja",	      "oui",
		"si",
	};

	return begins_with_any(text, len, words, OFS_ARRAY_SIZE(words));
}

enum ofs_asked_kind ofs_asked_judge(const char *text, size_t len)
{
	struct ofs_prose prose;
	struct ofs_sentence s;
	bool wants = false;
	size_t words;

	trim(&text, &len);
	words = count_words(text, len);
	if (!words || (is_thanks(text, len) && words < 16))
		return OFS_ASKED_NOTHING;
	if (is_yes(text, len))
		return words <= WORDS_MIN ? OFS_ASKED_CONFIRMS : OFS_ASKED_AGREES;
	prose = ofs_prose_enter(text, len);
	while (ofs_prose_next(&prose, &s) && !wants)
		wants = s.requests || s.asks;
	if (wants)
		return OFS_ASKED_WANTS;
	return words <= WORDS_MIN ? OFS_ASKED_NOTHING : OFS_ASKED_TELLS;
}

/* ---- commands in texts */

/* The block that ends at the end of the text: `open` begins a line. */
static bool last_block(const char *text, size_t len, const char *open, const char *close,
		       const char **ret, size_t *ret_len)
{
	size_t open_len = strlen(open), close_len = strlen(close);
	const char *end, *p;

	if (len < open_len + close_len || memcmp(text + len - close_len, close, close_len) != 0)
		return false;
	end = text + len - close_len;
	for (p = end - open_len; p >= text; p--) {
		if (memcmp(p, open, open_len) == 0 && (p == text || p[-1] == '\n'))
			break;
	}
	if (p < text)
		return false;
	p += open_len;
	*ret = p;
	*ret_len = (size_t)(end - p);
	return true;
}

bool ofs_asked_command(const char *text, size_t len, const char **ret, size_t *ret_len)
{
	static const struct {
		const char *open, *close;
	} tags[] = { { "<command>", "</command>" },
		     { "<execute_bash>", "</execute_bash>" },
		     { "<bash>", "</bash>" } };
	const char *eol;

	trim(&text, &len);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tags); i++) {
		if (last_block(text, len, tags[i].open, tags[i].close, ret, ret_len)) {
			trim(ret, ret_len);
			return *ret_len > 0;
		}
	}
	if (!last_block(text, len, "```", "```", ret, ret_len))
		return false;
	/* The name of a language is no command. */
	eol = memchr(*ret, '\n', *ret_len);
	if (!eol)
		return false;
	*ret_len -= (size_t)(eol - *ret);
	*ret = eol;
	trim(ret, ret_len);
	return *ret_len > 0;
}
