/* SPDX-License-Identifier: MIT */
/* What `offload top` computes from samples, and its layout. */
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/top_view.h"

static struct ofs_top_model model;

static void begin(void)
{
	memset(&model, 0, sizeof(model));
	cr_assert(setlocale(LC_CTYPE, "C.UTF-8"));
}

static void finish(void)
{
	ofs_top_model_finish(&model);
}

TestSuite(cli_top, .init = begin, .fini = finish);

/* Takes a sample, written with ' in place of ". */
static void take(const char *text)
{
	char *copy = strdup(text);
	json_t *sample;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	sample = json_loads(copy, 0, NULL);
	cr_assert(sample, "%s", text);
	ofs_top_model_take(&model, sample);
	free(copy);
}

static void expect_rate(const char *name, double want)
{
	cr_assert(fabs(ofs_top_rate(&model, name) - want) < 1e-9, "%s: %f", name,
		  ofs_top_rate(&model, name));
}

#define STATUS(ms, reads, offloaded)                                                          \
	"{'store':'/s','mounted':'/m','status':{'uptime_ms':" #ms ",'calls':{'lookup':1,"     \
	"'getattr':1,'readdir':0,'read':" #reads ",'write':0,'change':0,'sync':0},"           \
	"'tokens':{'offloaded':" #offloaded "}},'tasks':[{'task':'a','offloaded':" #offloaded \
	"}],'log':[]}"

Test(cli_top, rates_are_those_of_two_samples)
{
	take(STATUS(1000, 10, 5));
	expect_rate("reads", -1);
	cr_assert_eq(model.seconds, 0);
	take(STATUS(3000, 30, 105));
	expect_rate("reads", 10);
	expect_rate("requests", 10);
	expect_rate("tokens_offloaded", 50);
	cr_assert_eq(json_number_value(json_object_get(json_array_get(model.tasks, 0), "now")), 50);
	/* The daemon caches the status for a moment: the same one again changes nothing. */
	take(STATUS(3000, 30, 105));
	expect_rate("reads", 10);
	/* The daemon was restarted. */
	take(STATUS(500, 2, 105));
	expect_rate("reads", -1);
	take(STATUS(1500, 3, 105));
	expect_rate("reads", 1);
	expect_rate("sealed_bytes", -1);
}

#define NO_ROWS(ms, offloaded)                                                  \
	"{'store':'/s','mounted':'/m','status':{'uptime_ms':" #ms ",'tokens':{" \
	"'offloaded':" #offloaded "}}}"

static void expect_now(double want)
{
	json_t *row = json_array_get(model.tasks, 0);

	cr_assert_eq(json_number_value(json_object_get(row, "now")), want, "%f",
		     json_number_value(json_object_get(row, "now")));
}

Test(cli_top, rows_may_be_read_less_often)
{
	take(STATUS(1000, 0, 5));
	take(STATUS(2000, 0, 15));
	expect_now(10);
	take(NO_ROWS(3000, 55)); /* it was too soon */
	expect_now(10);
	take(STATUS(4000, 0, 95));
	expect_now(40);
	take(NO_ROWS(9000, 95)); /* there was nothing new */
	expect_now(0);
	take(STATUS(10000, 0, 100));
	expect_now(5);
}

Test(cli_top, what_belongs_to_no_task_has_a_rate)
{
	take("{'store':'/s','status':{'uptime_ms':1000},'tasks':[{'task':'','offloaded':70}]}");
	take("{'store':'/s','status':{'uptime_ms':2000},'tasks':[{'task':'','offloaded':73}]}");
	expect_now(3);
}

Test(cli_top, failures_are_kept_until_there_is_a_sample)
{
	take(STATUS(1000, 10, 5));
	take(STATUS(2000, 20, 5));
	take("{'error':'gone'}");
	cr_assert_str_eq(model.error, "gone");
	expect_rate("reads", -1);
	cr_assert_eq(ofs_top_number(&model, "calls.read"), 20);
	take(STATUS(3000, 20, 5));
	cr_assert_null(model.error);
}

static const char *text_at(size_t i, const char *key)
{
	const char *text = json_string_value(json_object_get(json_array_get(model.newest, i), key));

	return text ? text : "";
}

Test(cli_top, the_log_and_the_slices_are_one_list)
{
	take("{'store':'/s','mounted':'/m','status':{'slices':["
	     "{'time':'2026-01-01T00:00:05Z','path':'refs/x','slice':'1-2','bytes':9},"
	     "{'time':'2026-01-01T00:00:02Z','path':'agents/a/agents/b/tasks/T/f','slice':'b0-1'}]},"
	     "'log':[{'time':'2026-01-01T00:00:01Z','event':'offload','path':'cache/f'},"
	     "{'time':'2026-01-01T00:00:03Z','event':'offload','path':'agents/a/tasks/U/f'}]}");
	cr_assert_eq(json_array_size(model.newest), 4);
	cr_assert_str_eq(text_at(0, "slice"), "1-2");
	cr_assert_str_eq(text_at(1, "agent"), "a");
	cr_assert_str_eq(text_at(1, "task"), "U");
	cr_assert_str_eq(text_at(2, "agent"), "a/b");
	cr_assert_str_eq(text_at(2, "task"), "T");
	cr_assert_str_eq(text_at(3, "task"), "");
	cr_assert_eq(json_integer_value(json_object_get(json_array_get(model.newest, 0), "tokens")),
		     3);
}

Test(cli_top, rows_are_sorted_and_filtered)
{
	struct ofs_top_table t = ofs_top_table_begin(OFS_PANE_TASKS);
	json_t *rows;

	take("{'store':'/s','status':{'uptime_ms':1},'tasks':[{'task':'b','offloaded':3,'saved':-1},"
	     "{'task':'','offloaded':7,'saved':2},{'task':'Abc','offloaded':3,'saved':9}]}");
	rows = ofs_top_table_rows(&model, OFS_PANE_TASKS, &t, "");
	cr_assert_eq(json_array_size(rows), 3);
	cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "name")), "-");
	cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 1), "name")), "b");
	json_decref(rows);
	t.sort = 0;
	t.reverse = true;
	rows = ofs_top_table_rows(&model, OFS_PANE_TASKS, &t, "aB");
	cr_assert_eq(json_array_size(rows), 1);
	json_decref(rows);
}

static void expect_text(void (*fn)(double n, char ret[OFS_TOP_NUMBER_SIZE]), double n,
			const char *want)
{
	char text[OFS_TOP_NUMBER_SIZE];

	fn(n, text);
	cr_assert_str_eq(text, want);
}

Test(cli_top, numbers)
{
	expect_text(ofs_top_count, -1, "-");
	expect_text(ofs_top_count, 0, "0");
	expect_text(ofs_top_count, 999999, "999,999");
	expect_text(ofs_top_count, 999999.7, "1.0M");
	expect_text(ofs_top_count, 12345678, "12.3M");
	expect_text(ofs_top_count, 999960000, "1.0G");
	expect_text(ofs_top_count, 1e20, "100000000.0T");
	expect_text(ofs_top_rate_text, 0.25, "0.2");
	expect_text(ofs_top_rate_text, 9.96, "10");
	expect_text(ofs_top_size, 999, "999 B");
	expect_text(ofs_top_size, 1000, "1.0 KB");
	expect_text(ofs_top_size, 999960, "1.0 MB");
	expect_text(ofs_top_age, 59.9, "59s");
	expect_text(ofs_top_age, 60, "1m");
	expect_text(ofs_top_age, 90000, "1d");
	expect_text(ofs_top_age, -1, "-");
}

/* Returns a row of a canvas, in static storage. */
static const char *row_text(const struct ofs_canvas *c, int row)
{
	static char text[1024];
	size_t n = 0;

	for (int col = 0; col < c->cols; col++) {
		ofs_canvas_encode(ofs_canvas_at(c, row, col)->c, text + n);
		n += strlen(text + n);
	}
	return text;
}

static void expect_put(const char *text, int width, enum ofs_cut cut, bool utf8, const char *want)
{
	struct ofs_canvas c;

	ofs_canvas_init(&c, 1, 12, utf8);
	ofs_canvas_put(&c, 0, 1, width, OFS_STYLE_PLAIN, cut, text);
	cr_assert_str_eq(row_text(&c, 0), want, "'%s'", row_text(&c, 0));
	ofs_canvas_finish(&c);
}

Test(cli_top, text_is_put_into_columns)
{
	expect_put("abc", 5, OFS_CUT_END, true, " abc        ");
	expect_put("abcdef", 5, OFS_CUT_END, true, " abcd~      ");
	expect_put("abcdef", 5, OFS_CUT_START, true, " ~cdef      ");
	expect_put("abcdef", 99, OFS_CUT_END, true, " abcdef     ");
	expect_put("abcdefghijklmn", 99, OFS_CUT_END, true, " abcdefghij~");
	expect_put("a\x1b[31mb\x07", 8, OFS_CUT_END, true, " ab^G       ");
	/* A wide character takes two columns and is never halved. */
	expect_put("漢字漢", 6, OFS_CUT_END, true, " 漢字漢     ");
	expect_put("漢字漢字", 6, OFS_CUT_END, true, " 漢字 ~     ");
	expect_put("漢字漢字", 6, OFS_CUT_START, true, " ~ 漢字     ");
	expect_put("漢é", 6, OFS_CUT_END, false, " ??         ");
	/* Characters without width are left out. */
	expect_put("e\xcc\x81x", 6, OFS_CUT_END, true, " ex         ");
}

static enum ofs_top_act press(struct ofs_top_view *v, uint32_t key)
{
	const char *path = NULL;

	return ofs_top_view_key(v, &model, key, &path);
}

Test(cli_top, any_size_and_any_key)
{
	static const uint32_t keys[] = { 'j',
					 'G',
					 OFS_KEY_PAGE_UP,
					 's',
					 'r',
					 OFS_KEY_TAB,
					 '?',
					 'j',
					 'q',
					 OFS_KEY_BACKTAB,
					 '/',
					 'x',
					 0x6f22,
					 OFS_KEY_RUBOUT,
					 OFS_KEY_ESCAPE,
					 '+',
					 '-',
					 OFS_KEY_ENTER,
					 OFS_KEY_OTHER,
					 'p',
					 OFS_KEY_PAGE_DOWN,
					 OFS_KEY_END,
					 OFS_KEY_HOME,
					 'k' };
	struct ofs_top_view v;
	struct ofs_canvas c;

	ofs_top_view_init(&v, 1);
	for (int n = 0; n < 3; n++) {
		for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++) {
			press(&v, keys[i]);
			ofs_canvas_init(&c, (int)(i * 5 % 40), (int)(i * 17 % 130), n != 1);
			ofs_top_view_draw(&v, &model, 0, &c);
			ofs_canvas_finish(&c);
		}
		take(STATUS(1000, 10, 5));
		take("{'store':'/s','mounted':null,'log':[{'time':'x','event':1,'path':'漢/a'}]}");
	}
	ofs_top_view_show(&v, "name", "a\nb\x1b[2J\n");
	ofs_canvas_init(&c, 24, 80, true);
	ofs_top_view_draw(&v, &model, 0, &c);
	ofs_canvas_finish(&c);
	cr_assert_eq(press(&v, 'q'), OFS_TOP_STAY);
	cr_assert_eq(press(&v, 'q'), OFS_TOP_QUIT);
	ofs_top_view_finish(&v);
}

Test(cli_top, how_far_a_remote_is_behind)
{
	int64_t now = INT64_C(1767225610) * OFS_NS_PER_S;

	cr_assert_eq(ofs_top_lag(&model, now), -1);
	take("{'store':'/s','mounted':'/m','status':{'remote':{'pending_bytes':5,"
	     "'complete_until':'2026-01-01T00:00:00Z'}}}");
	cr_assert_eq(ofs_top_lag(&model, now), 10);
	take("{'store':'/s','mounted':'/m','status':{'remote':{'pending_bytes':0,"
	     "'complete_until':'2026-01-01T00:00:00Z'}}}");
	cr_assert_eq(ofs_top_lag(&model, now), 0);
}
