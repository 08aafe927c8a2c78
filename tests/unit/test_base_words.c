/* SPDX-License-Identifier: MIT */
/* Words in texts: stems, names and scripts. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fold.h"
#include "base/words.h"
#include "test_draw.h"

static struct ofs_words *words;

static void setup(void)
{
	words = ofs_words_create();
}

static void teardown(void)
{
	ofs_words_destroy(words);
	ofs_words_destroy(NULL);
}

TestSuite(base_words, .init = setup, .fini = teardown);

/* ---- words as text: "=" before a name, "+" before its parts, "~" before a gram */

struct listing {
	struct ofs_buf out;
	const char *text;
	size_t len, last; /* last: where the last word began */
	bool places;
};

static void take(void *arg, const struct ofs_word *word)
{
	static const char *const signs[] = { "", "=", "+", "~" };
	struct listing *l = arg;

	cr_assert(word->len && word->len <= OFS_WORD_MAX);
	cr_assert(word->at < word->end && word->end <= l->len);
	cr_assert_geq(word->at, l->last, "in the order in which they begin");
	l->last = word->at;
	ofs_buf_append_str(&l->out, l->out.len ? " " : "");
	ofs_buf_append_str(&l->out, signs[word->kind]);
	ofs_buf_append(&l->out, word->text, word->len);
	if (l->places)
		ofs_buf_printf(&l->out, "@%zu-%zu", word->at, word->end);
}

static const char *list(const char *text, size_t len, bool places)
{
	static char all[4096];
	struct listing l = { OFS_BUF_INIT, text, len, 0, places };

	ofs_words_each(words, text, len, take, &l);
	ofs_buf_append(&l.out, "", 1);
	cr_assert_leq(l.out.len, sizeof(all));
	memcpy(all, l.out.data, l.out.len);
	ofs_buf_finish(&l.out);
	return all;
}

struct sample {
	const char *text, *words;
};

static void expect(const struct sample *samples, size_t n, bool places)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = list(samples[i].text, strlen(samples[i].text), places);

		cr_expect_str_eq(got, samples[i].words, "'%s': '%s', not '%s'", samples[i].text,
				 got, samples[i].words);
	}
}

/* clang-format off */
static const struct sample plain[] = {
	{ "", "" },
	{ " \t\n.,;-/()[]{}<>\"'`~!@#$%^&*=+|\\?:\x7f\x01", "" },
	{ "The quick, brown FOX!", "the quick brown fox" },
	/* All forms have one stem. */
	{ "run runs running Running RUNNING", "run run run run run" },
	{ "hope hopes hoped hoping", "hope hope hope hope" },
	{ "happy happily happiness happier", "happi happili happi happier" },
	{ "try tries trying tried", "tri tri tri tri" },
	{ "connection connected connecting", "connect connect connect" },
	{ "dying lying", "die lie" },
	/* No stems for short or very long words, nor for those with digits. */
	{ "is as us", "is as us" },
	{ "abcdefghijklmnopqrstuvings", "abcdefghijklmnopqrstuvings" },
	{ "series2 runs2", "series2 runs2" },
	/* Digits. */
	{ "42 3.14 1,000 2026-01-31", "42 3 14 1 000 2026 01 31" },
	{ "x1 1x v2beta 0xFF", "x1 1x v2beta =0xff +0x +ff" },
	/* Apostrophes split words. */
	{ "don't user's I'm", "don t user s i m" },
	{ "don’t ‘quoted’ “so”", "don t quot so" },
	{ "well-known a/b/c.txt user@example.org", "well known a b c txt user exampl org" },
	/* Symbols are not words, and split words. */
	{ "23→text", "23 text" },
	{ "│a│b┼c█d", "a b c d" },
	{ "ok👍done 😀😀 ❤️x", "ok done x" },
	{ "a–b—c…d•e", "a b c d e" },
	{ "5×3÷2 20°C ©2026 «so» 10€", "5 3 2 20 c 2026 so 10" },
	{ "zero\u200bwidth no\u00a0break", "zero width no break" },
	{ "\ufeffstart", "start" },
	{ "\ue000private", "privat" },
};

static const struct sample names[] = {
	{ "getUserId", "=getuserid +get +user +id" },
	{ "get_user_id", "=getuserid +get +user +id" },
	{ "GetUserId", "=getuserid +get +user +id" },
	{ "GET_USER_ID", "=getuserid +get +user +id" },
	{ "_get_user__id_", "=getuserid +get +user +id" },
	{ "get_userId", "=getuserid +get +user +id" },
	{ "HTTPServer", "=httpserver +http +server" },
	{ "parseHTTPRequest", "=parsehttprequest +pars +http +request" },
	{ "parseHTTP", "=parsehttp +pars +http" },
	/* Plurals of abbreviations. */
	{ "APIs URLs", "api url" },
	{ "userIDs IDsOf ID_x Is", "=userids +user +id =idsof +id +of =idx is" },
	{ "HTTPServers HTTPSet", "=httpservers +http +server =httpset +http +set" },
	/* Parts are stemmed, names are not. */
	{ "running_jobs", "=runningjobs +run +job" },
	/* Single parts are not names. */
	{ "__init__", "init" },
	{ "_", "" },
	{ "___ _x_", "x" },
	{ "Word WORD word_", "word word word" },
	{ "utf8 UTF8", "utf8 utf8" },
	/* Parts of one letter are not words. */
	{ "get_x", "=getx +get" },
	{ "x_axis", "=xaxis +axi" },
	{ "x_y", "=xy" },
	{ "aB", "=ab" },
	{ "k8sCluster", "=k8scluster +k8s +cluster" },
	/* Separators other than '_' split names. */
	{ "get-user-id get.user::id", "get user id get user id" },
	/* Too many parts. */
	{ "a1_b2_c3_d4_e5_f6_g7_h8_i9_j10_k11_l12",
	  "=a1b2c3d4e5f6g7h8i9j10k11l12 +a1 +b2 +c3 +d4 +e5 +f6 +g7 +h8 +i9 +j10 +k11 +l12" },
	{ "a1_b2_c3_d4_e5_f6_g7_h8_i9_j10_k11_l12_m13", "=a1b2c3d4e5f6g7h8i9j10k11l12m13" },
	{ "Xk3_9aQz", "=xk39aqz +xk3 +9a +qz" },
	{ "Xk3Q9_aQ", "=xk3q9aq" },
	/* Capitals outside ASCII begin parts, too. */
	{ "FindCafé", "=findcafe +find +cafe" },
	{ "größeÄndern", "=großeandern +große +andern" },
	{ "MÉTHODES CONFIGURACIÓN ŽLUTÝ", "method configuracion zluti" },
	{ "ÉTATInitial ÜBERPrüfung", "=etatinitial +etat +initi =uberprufung +uber +prufung" },
	{ "E\u0301TAT cafe\u0301Bar", "etat =cafebar +cafe +bar" },
	{ "naïveBayes", "=naivebayes +naiv +bay" },
};

static const struct sample folded[] = {
	{ "Café CAFÉ cafe", "cafe cafe cafe" },
	{ "résumés Ångström Łódź søren", "resum angstrom lodz soren" },
	{ "tiếng Việt", "tieng viet" },
	/* Combining diacritics: after a letter, in the middle, at the start. */
	{ "cafe\u0301s", "cafe" },
	{ "\u0301abc", "abc" },
	{ " \u0301\u0301abc \u0301", "abc" },
	{ "_\u0301a", "a" },
	{ "straße", "straße" },
};

static const struct sample scripts[] = {
	/* Each pair of characters, and the last character. */
	{ "价格表", "~价格 ~格表 ~表" },
	{ "价", "~价" },
	{ "价格，上涨。", "~价格 ~格 ~上涨 ~涨" },
	{ "ひらがなカタ", "~ひら ~らが ~がな ~なカ ~カタ ~タ" },
	{ "ラーメン・すし", "~ラー ~ーメ ~メン ~ン ~すし ~し" },
	{ "한국어 검색", "~한국 ~국어 ~어 ~검색 ~색" },
	{ "ภาษา", "~ภา ~าษ ~ษา ~า" },
	{ "𠮷野", "~𠮷野 ~野" },
	/* Other scripts end a run. */
	{ "用getUserId函数", "~用 =getuserid +get +user +id ~函数 ~数" },
	{ "2026年1月", "2026 ~年 1 ~月" },
	/* The word and each three characters of it. */
	{ "Привет МИР", "привет ~при ~рив ~иве ~вет мир ~мир" },
	{ "да", "да" },
	{ "Ελλάς", "ελλάσ ~ελλ ~λλά ~λάσ" },
	{ "й\u0306", "й" },
	{ "versionверсия", "version версия ~вер ~ерс ~рси ~сия" },
	{ "שלום", "שלום ~שלו ~לום" },
	{ "नमस्ते", "नमस्ते ~नमस ~मस् ~स्त ~्ते" },
	{ "\ufeffмир", "мир ~мир" },
};

static const struct sample placed[] = {
	{ "a get_userId é", "a@0-1 =getuserid@2-12 +get@2-5 +user@6-10 +id@10-12 e@13-15" },
	{ "__init__ x", "init@0-8 x@9-10" },
	{ "_ab__cd_", "=abcd@0-8 +ab@1-3 +cd@5-7" },
	{ "x cafés", "x@0-1 cafe@2-8" },
	{ "e\u0301t", "et@0-4" },
	{ "→价格x", "~价格@3-9 ~格@6-9 x@9-10" },
	{ "мирно", "мирно@0-10 ~мир@0-6 ~ирн@2-8 ~рно@4-10" },
};
/* clang-format on */

Test(base_words, plain_words_by_their_stems)
{
	expect(plain, OFS_ARRAY_SIZE(plain), false);
}

Test(base_words, names_of_several_parts)
{
	expect(names, OFS_ARRAY_SIZE(names), false);
}

Test(base_words, case_and_diacritics_do_not_matter)
{
	expect(folded, OFS_ARRAY_SIZE(folded), false);
}

Test(base_words, scripts)
{
	expect(scripts, OFS_ARRAY_SIZE(scripts), false);
}

Test(base_words, places)
{
	expect(placed, OFS_ARRAY_SIZE(placed), true);
}

Test(base_words, invalid_bytes_part_words)
{
	cr_assert_str_eq(list("ab\xff"
			      "cd",
			      5, true),
			 "ab@0-2 cd@3-5");
	cr_assert_str_eq(list("a\0b", 3, true), "a@0-1 b@2-3");
	cr_assert_str_eq(list("a\xc3", 2, true), "a@0-1"); /* truncated */
	cr_assert_str_eq(list("\x80z\xe4\xbb", 4, true), "z@1-2");
	cr_assert_str_eq(list("a\xc0\xaf"
			      "b\xed\xa0\x80"
			      "c",
			      8, false),
			 "a b c"); /* overlong, a surrogate */
	cr_assert_str_eq(list("\xe4\xbb\xb7\xe6\xa0", 5, true), "~价@0-3");
}

Test(base_words, long_words_are_cut)
{
	char text[512], cut[OFS_WORD_MAX + 1];
	const char *got;

	memset(text, 'a', sizeof(text));
	memset(cut, 'a', OFS_WORD_MAX);
	cut[OFS_WORD_MAX] = 0;
	cr_assert_str_eq(list(text, OFS_WORD_MAX, false), cut);
	cr_assert_str_eq(list(text, OFS_WORD_MAX + 1, false), cut);
	got = list(text, sizeof(text), true);
	cr_assert_eq(strncmp(got, cut, OFS_WORD_MAX), 0);
	cr_assert_str_eq(got + OFS_WORD_MAX, "@0-512");
	/* The limit falls within a character, which is kept whole in scripts with grams. */
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "ж", 2);
	text[0] = ' ';
	text[1] = 'x';
	cr_assert_not_null(strstr(list(text, 300, false), "x жж"));
	memcpy(text, "\u0250", 2);
	list(text, sizeof(text), false);
	for (size_t i = 1; i + 2 <= sizeof(text); i += 2)
		memcpy(text + i, "ß", 2);
	list(text, sizeof(text) - 1, false);
}

static void count(void *arg, const struct ofs_word *word)
{
	++*(size_t *)arg;
}

Test(base_words, random_runs_are_one_word)
{
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	char text[3000];
	size_t n = 0;

	draw_state = 7;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = base64[draw(62)];
	ofs_words_each(words, text, sizeof(text), count, &n);
	cr_assert_eq(n, 1, "%zu", n);
}

/* The cache of stems, where words share slots, gives the stem of the right word. */
Test(base_words, stems_are_not_mixed_up)
{
	char text[64], first[64];

	draw_state = 11;
	for (int i = 0; i < 20000; i++) {
		struct ofs_words *fresh, *kept = words;

		snprintf(text, sizeof(text), "%c%c%c%s", 'a' + (int)draw(26), 'a' + (int)draw(26),
			 'a' + (int)draw(26), (const char *[]){ "", "s", "ing", "ed" }[draw(4)]);
		snprintf(first, sizeof(first), "%s", list(text, strlen(text), false));
		if (i % 100)
			continue;
		fresh = words = ofs_words_create();
		cr_assert_str_eq(list(text, strlen(text), false), first);
		words = kept;
		ofs_words_destroy(fresh);
	}
}

/* Snake case and camel case of a name give the same words. */
Test(base_words, spellings_of_names_are_alike)
{
	static const char *const parts[] = { "get", "User", "id", "HTTP", "value2", "Ready", "to" };
	char snake[128], camel[128], one[512];

	draw_state = 13;
	for (int i = 0; i < 1000; i++) {
		char *s = snake, *c = camel;
		size_t n = 1 + draw(5);

		for (size_t k = 0; k < n; k++) {
			const char *part = parts[draw(OFS_ARRAY_SIZE(parts))];

			if (k)
				*s++ = '_';
			for (size_t at = 0; part[at]; at++) {
				*s++ = (char)ofs_fold_char((uint32_t)part[at]);
				*c++ = part[at] >= 'a' && part[at] <= 'z' && !at
					       ? (char)(part[at] - 32)
					       : (char)(at ? ofs_fold_char((uint32_t)part[at])
							   : (uint32_t)part[at]);
			}
		}
		*s = *c = 0;
		snprintf(one, sizeof(one), "%s", list(snake, strlen(snake), false));
		cr_assert_str_eq(list(camel, strlen(camel), false), one, "%s, %s", snake, camel);
	}
}

/* take() checks that words lie within the text, in order. */
Test(base_words, any_bytes)
{
	static const char *const pieces[] = { "a",  "B",  "_",	    "9",    " ",    "é",
					      "价", "ж",  "→",	    "😀",    "ß",    "\xff",
					      "Z",  "가", "\u0301", "\xe4", "\xbb", "ing" };
	char text[300];

	draw_state = 17;
	for (int i = 0; i < 5000; i++) {
		size_t len = 0, n = draw(60);

		for (size_t k = 0; k < n; k++) {
			const char *piece = pieces[draw(OFS_ARRAY_SIZE(pieces))];

			memcpy(text + len, piece, strlen(piece));
			len += strlen(piece);
		}
		list(text, len, true);
	}
}

Test(base_words, dense_scripts)
{
	cr_assert(ofs_words_is_dense(0x4ef7)); /* 价 */
	cr_assert(ofs_words_is_dense(0x3042)); /* あ */
	cr_assert(ofs_words_is_dense(0xd55c)); /* 한 */
	cr_assert(ofs_words_is_dense(0x0e20)); /* ภ */
	cr_assert(ofs_words_is_dense(0x20bb7)); /* 𠮷 */
	cr_assert_not(ofs_words_is_dense('a'));
	cr_assert_not(ofs_words_is_dense(0xe9)); /* é */
	cr_assert_not(ofs_words_is_dense(0x416)); /* Ж */
	cr_assert_not(ofs_words_is_dense(0x3002)); /* 。 */
	cr_assert_not(ofs_words_is_dense(OFS_FOLD_INVALID));
}

/* ---- common words */

static bool is_common(const char *word)
{
	return ofs_words_is_common(word, strlen(word));
}

/* All of them, since finding them depends on their order in the table. */
static const char common[] =
	"a about after all also am an and any are as at be because been before being but by can "
	"could d did didn do does doesn doing don done for from get gets getting go going got had "
	"has hasn have haven having he her here hers him his how i if in into is isn it its just "
	"like ll m me might more most my no not now of on or our out over own re s she should so "
	"some such t than that the their them then there these they this those through to too "
	"under until up us ve very was wasn we were what when where which while who whom why will "
	"with won would you your";

Test(base_words, each_common_word_is_found)
{
	char word[16];
	size_t n;

	for (const char *at = common; *at; at += n + (at[n] != 0)) {
		n = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		cr_assert(is_common(word), "%s", word);
		cr_assert(ofs_words_is_common(at, n), "%s", word);
		strcat(word, "q");
		cr_assert_not(is_common(word), "%s", word);
	}
}

Test(base_words, others_are_not_common)
{
	static const char *const others[] = { "",      "aa",	"The",	 "b",	 "z",
					      "yours", "youth", "error", "user", "zzz",
					      "one",   "two",	"new",	 "use",	 "\xff" };
	char text[OFS_WORD_MAX * 2];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
		cr_assert_not(is_common(others[i]), "%s", others[i]);
	memset(text, 'a', sizeof(text));
	cr_assert_not(ofs_words_is_common(text, sizeof(text)));
	cr_assert(ofs_words_is_common("their", 3), "the length counts");
}
