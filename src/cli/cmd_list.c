/* SPDX-License-Identifier: MIT */
/* offload list: lists files, page by page (tree/virtual/inventory.h). */
#include <fnmatch.h>
#include <inttypes.h>
#include <sys/mman.h>

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/access.h"
#include "io/path.h"
#include "tree/virtual/inventory.h"

#define LIST_DIR ".offload/list/"
#define PORTION_BYTES ((size_t)4 << 20) /* of pages; a child keeps what it shows in memory */
#define LIST_HERE 100 /* exit code of the child: the tree is not mounted */

static struct ofs_option_list tiers, categories, tasks, tags;
static const char *older, *newer;
static int order; /* enum ofs_inventory_order */
static bool reverse, in_full;
static uint64_t most = UINT64_MAX;
static bool terminal; /* standard output is a terminal */
static bool guarded = true; /* a child works on the tree */

static const struct ofs_option options[] = {
	OFS_LIST(0, "tier", "TIER", &tiers, "files of this tier: working, long-term, archive"),
	OFS_LIST('c', "category", "CATEGORY", &categories, "of this category"),
	OFS_LIST('t', "task", "TASK", &tasks, "of this task"),
	OFS_LIST(0, "tag", "TAG", &tags, "with this tag; if repeated, with all of them"),
	OFS_TEXT(0, "older", "AGE", &older,
		 "not used for this long (30m, 6h, 7d), or since a date"),
	OFS_TEXT(0, "newer", "AGE", &newer, "used within that time"),
	OFS_CHOICE('s', "sort", "ORDER", &order, "known order", ofs_inventory_orders,
		   "used: the last use, latest first (default); modified: latest\n"
		   "first; size, tokens, stored (bytes on disk): most first;\n"
		   "expires: the first to be removed first; path"),
	OFS_FLAG('r', "reverse", &reverse, "reverse the order"),
	OFS_COUNT('n', "max", "N", &most, "files", INT64_MAX, "show N files at most"),
	OFS_FLAG('l', "long", &in_full, "show more of each: tags, times, bytes on disk"),
	OFS_OPTIONS_END,
};

/* Sums over files. */
struct sums {
	uint64_t files, bytes, stored, tokens;
	uint64_t uncounted; /* files whose tokens are not in `tokens` */
};

/* The progress of the listing, shared with the children that work on the tree. */
struct list {
	char position[64]; /* "": the first page */
	uint64_t shown;
	struct sums sums;
	bool opened; /* the JSON object, or the header, is printed */
	bool over; /* nothing more is to be shown */
};

static struct list *list;

/* The work of one child process. */
struct work {
	struct ofs_access access;
	char **patterns; /* paths in the tree; ends with NULL */
	bool matches; /* files are matched with `patterns` here, not by the tree alone */
	char *request; /* all but the position */
};

/* ---- the request */

static void add_words(struct ofs_buf *out, const char *filter, const struct ofs_option_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		ofs_buf_printf(out, "%s:", filter);
		ofs_inventory_quote(l->at[i], out);
		ofs_buf_append_str(out, " ");
	}
}

static void add_word(struct ofs_buf *out, const char *filter, const char *value)
{
	if (value)
		add_words(out, filter, &(struct ofs_option_list){ { value }, 1 });
}

static bool is_pattern(const char *path)
{
	return strpbrk(path, "*?[") != NULL;
}

/* Returns the allocated directory that contains all paths, up to the first pattern in them. */
static char *common_folder(const struct work *w)
{
	char *common = ofs_strdup(w->patterns[0] ? w->patterns[0] : "");
	size_t len = strcspn(common, "*?[");

	for (char **p = w->patterns; *p; p++) {
		size_t same = 0;

		while (same < len && (*p)[same] == common[same])
			same++;
		len = same;
	}
	/* A single path without a pattern is taken as it is. */
	if (w->matches)
		while (len && common[len] != '/')
			len--;
	common[len] = '\0';
	return common;
}

/* Sets w->request. Returns -1 or an exit code. */
static int make_request(struct work *w)
{
	OFS_CLEANUP(ofs_inventory_request_finish) struct ofs_inventory_request ignored = { 0 };
	size_t room = OFS_NAME_MAX - strlen("from:") - sizeof(list->position);
	struct ofs_buf words = OFS_BUF_INIT;
	OFS_FREE char *folder = NULL;
	struct ofs_error err;

	w->matches = w->patterns[0] && (w->patterns[1] || is_pattern(w->patterns[0]));
	folder = common_folder(w);
	add_words(&words, "tier", &tiers);
	add_words(&words, "category", &categories);
	add_words(&words, "task", &tasks);
	add_words(&words, "tag", &tags);
	add_word(&words, "older", older);
	add_word(&words, "newer", newer);
	add_word(&words, "below", *folder ? folder : NULL);
	add_word(&words, "sort", ofs_inventory_orders[order]);
	add_word(&words, "reverse", reverse ? "yes" : NULL);
	if (most <= OFS_INVENTORY_PAGE && !w->matches)
		ofs_buf_printf(&words, "max:%" PRIu64 " ", most);
	w->request = ofs_buf_steal_str(&words);
	if (strlen(w->request) > room)
		return ofs_report_usage("the filters and paths are too long together: %zu bytes "
					"as sent to the tree, at most %zu are possible",
					strlen(w->request), room);
	if (ofs_inventory_parse(NULL, w->request, ofs_clock_wall(), &err, &ignored) < 0)
		return ofs_report_usage("%s", err.text);
	return -1;
}

/* ---- a file */

static uint64_t number_of(const json_t *file, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(file, key));
}

static const char *text_of(const json_t *file, const char *key)
{
	const char *text = json_string_value(json_object_get(file, key));

	return text ? text : "";
}

/* Returns nanoseconds since 1970, or INT64_MAX if there is no time. */
static int64_t time_of(const json_t *file, const char *key)
{
	int64_t at;

	return ofs_query_time(text_of(file, key), 0, &at) ? at : INT64_MAX;
}

/* Prints a duration in one unit: "41m", "3d". */
static void print_span(int64_t ns, const char *after, int width)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf span = OFS_BUF_INIT;
	char *blank;

	ofs_text_duration(OFS_MAX(ns, (int64_t)0), &span);
	blank = strchr(ofs_buf_str(&span), ' ');
	if (blank)
		*blank = '\0';
	printf("%*s%s", width, (char *)span.data, after);
}

/* Prints a number right-aligned: "48,213"; "3.2M". */
static void print_number(uint64_t n, int width)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	if (n < 1000000)
		ofs_text_number(out, n);
	else
		fprintf(out, "%.1fM", (double)n / 1e6);
	text = ofs_text_close(&s);
	printf("%*s", width, text);
}

static void print_size(uint64_t bytes, int width)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;

	ofs_text_size(ofs_text_open(&s), bytes);
	text = ofs_text_close(&s);
	printf("%*s", width, text);
}

/* Prints "kept", "live", "evictable", or the time left. */
static void print_state(const json_t *file)
{
	const char *state = text_of(file, "state");
	int64_t end = time_of(file, "expires");

	if (strcmp(state, "until") == 0 && end != INT64_MAX)
		print_span(end - ofs_clock_wall(), " left", 4);
	else
		printf("%-9s", state);
}

/* Prints a text from others between two marks, unless it is empty. */
static void print_quoted(const char *text, const char *before, const char *after)
{
	if (!*text)
		return;
	fputs(before, stdout);
	ofs_text_line(stdout, text);
	fputs(after, stdout);
}

static void print_file(const json_t *file)
{
	printf("%-8s ", text_of(file, "ref"));
	print_size(number_of(file, "size"), 9);
	print_number(number_of(file, "tokens"), 9);
	print_span(ofs_clock_wall() - time_of(file, "used"), "  ", 6);
	print_state(file);
	if (in_full) {
		print_size(number_of(file, "stored_bytes"), 11);
		printf("  %s  %s", text_of(file, "modified"), text_of(file, "used"));
	}
	print_quoted(text_of(file, "path"), "  ", "");
	if (in_full)
		print_quoted(text_of(file, "tags"), "  [", "]");
	print_quoted(text_of(file, "title"), "  \"", "\"");
	putchar('\n');
}

/* Prints the header, or opens the JSON object. */
static void open_output(void)
{
	if (list->opened)
		return;
	list->opened = true;
	if (ofs_command_json) {
		fputs("{\"files\": [", stdout);
	} else if (terminal) {
		printf("%-8s %9s%9s%6s  %-9s", "REF", "SIZE", "TOKENS", "USED", "STATE");
		if (in_full)
			printf("%11s  %-20s  %-20s", "ON DISK", "MODIFIED", "USED");
		puts("  PATH");
	}
}

static void close_json(void)
{
	const struct sums *s = &list->sums;

	printf("],\n\"total\": {\"files\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"stored_bytes\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"uncounted\": %" PRIu64
	       "}}\n",
	       s->files, s->bytes, s->stored, s->tokens, s->uncounted);
}

static void print_sums(void)
{
	const struct sums *s = &list->sums;

	if (list->shown < s->files) {
		ofs_text_number(stdout, list->shown);
		fputs(" of ", stdout);
	}
	ofs_text_count(stdout, s->files, "file");
	fputs(", ", stdout);
	ofs_text_size(stdout, s->bytes);
	fputs(", ", stdout);
	if (s->tokens < 1000000)
		ofs_text_count(stdout, s->tokens, "token");
	else
		printf("%.1f M tokens", (double)s->tokens / 1e6);
	if (s->uncounted) {
		fputs(" without those of ", stdout);
		ofs_text_count(stdout, s->uncounted, "file");
	}
	fputs(" (", stdout);
	ofs_text_size(stdout, s->stored);
	puts(" on disk)");
}

/* ---- pages */

static bool is_wanted(const struct work *w, const json_t *file)
{
	for (char **p = w->patterns; *p; p++) {
		/* A backslash escapes in patterns alone. */
		int flags = FNM_PATHNAME | FNM_LEADING_DIR | (is_pattern(*p) ? 0 : FNM_NOESCAPE);

		if (fnmatch(*p, text_of(file, "path"), flags) == 0)
			return true;
	}
	return !w->matches;
}

/* Takes a line of a page. -EPROTO: it is not one. */
static int take_line(const struct work *w, const char *line)
{
	json_t *file = NULL;

	/* JSON mostly passes through unparsed. */
	if (!ofs_command_json || w->matches) {
		file = json_loads(line, 0, NULL);
		if (!file)
			return -EPROTO;
	}
	if (w->matches && is_wanted(w, file)) {
		list->sums.files++;
		list->sums.bytes += number_of(file, "size");
		list->sums.stored += number_of(file, "stored_bytes");
		list->sums.tokens += number_of(file, "tokens");
	} else if (w->matches) {
		json_decref(file);
		return 0;
	}
	if (list->shown < most) {
		if (ofs_command_json)
			printf("%s%s", list->shown ? ",\n" : "\n", line);
		else
			print_file(file);
		list->shown++;
	}
	json_decref(file);
	return 0;
}

/* Takes the first line of a page. */
static int take_head(const struct work *w, const char *line)
{
	json_t *head = json_loads(line, 0, NULL);
	const char *next = text_of(head, "next");

	if (!head)
		return -EPROTO;
	/* It may only say that the tree is not ready yet. */
	if (!w->matches && json_object_get(head, "files") && !list->sums.files)
		list->sums = (struct sums){ number_of(head, "files"), number_of(head, "bytes"),
					    number_of(head, "stored_bytes"),
					    number_of(head, "tokens"),
					    number_of(head, "uncounted") };
	snprintf(list->position, sizeof(list->position), "%s", next);
	list->over = !*next;
	json_decref(head);
	return 0;
}

/* Takes one page. Sets *ret_bytes to its length. 0 or -errno. */
static int take_page(struct work *w, size_t *ret_bytes)
{
	OFS_FREE char *path = ofs_format(LIST_DIR "%s%s%s", w->request,
					 list->position[0] ? "from:" : "", list->position);
	OFS_FREE char *text = NULL;
	char *rest, *line;
	int r = ofs_backend_read_text(w->access.backend, path, &text);

	if (r < 0)
		return r;
	*ret_bytes = strlen(text);
	rest = text;
	r = take_head(w, strsep(&rest, "\n"));
	while (r == 0 && (line = strsep(&rest, "\n")))
		r = *line ? take_line(w, line) : 0;
	list->over = list->over || (!w->matches && list->shown >= most);
	return r;
}

static int failed(struct work *w, int r)
{
	if (r == -EACCES)
		return ofs_report("only the owner of the store may list it");
	if (r == -ENOENT && w->patterns[0])
		return ofs_report("'%s' has no files", w->patterns[0]);
	if (r == -ENOENT || r == -EPROTO)
		return ofs_report("the daemon is older than this tool and cannot list its files: "
				  "mount the tree again");
	if (r == -ESTALE)
		return ofs_report("the file listed last is gone: list again");
	return ofs_report("cannot list: %s", ofs_backend_strerror(-r));
}

/* ---- the command */

static void work_finish(struct work *w)
{
	for (char **p = w->patterns; p && *p; p++)
		free(*p);
	free(w->patterns);
	free(w->request);
	ofs_access_finish(&w->access);
}

/* Finds the tree and resolves the operands. Returns an exit code; LIST_HERE: not mounted. */
static int work_begin(struct work *w, char *const *operands)
{
	size_t n = 0;
	struct ofs_error err;
	struct stat st;
	int code;

	while (operands[n])
		n++;
	w->patterns = ofs_realloc(NULL, n + 1, sizeof(*w->patterns));
	memset(w->patterns, 0, (n + 1) * sizeof(*w->patterns));
	ofs_access_init(&w->access, &ofs_command_target);
	if (ofs_access_find(&w->access, &err) < 0)
		return ofs_report("%s", err.text);
	if (guarded && !w->access.target.mounted)
		return LIST_HERE;
	if (ofs_access_open(&w->access, false, &err) < 0)
		return ofs_report("%s", err.text);
	for (size_t k = 0; k < n; k++) {
		int r = ofs_access_inside(&w->access, operands[k], &err, &w->patterns[k]);

		if (r < 0)
			return ofs_report("%s", err.text);
		if (!is_pattern(w->patterns[k]) &&
		    w->access.backend->ops->lstat(w->access.backend, w->patterns[k], &st) < 0)
			return ofs_report("no such file or folder: '%s'", operands[k]);
	}
	code = make_request(w);
	return code < 0 ? OFS_EXIT_OK : code;
}

/* Shows some pages, or all of them where nothing can hang. Returns a code as work_begin() does. */
static int show_portion(const void *operands)
{
	OFS_CLEANUP(work_finish) struct work w = { 0 };
	int code = work_begin(&w, (char *const *)operands), r = 0;
	size_t bytes = 0, page = 0;

	if (code != OFS_EXIT_OK)
		return code;
	open_output();
	while (r == 0 && !list->over && (!guarded || bytes < PORTION_BYTES)) {
		r = take_page(&w, &page);
		bytes += page;
	}
	ofs_report_stale(&w.access.target);
	return r < 0 ? failed(&w, r) : OFS_EXIT_OK;
}

static int list_run(const struct ofs_command *self, int argc, char **argv)
{
	int r;

	if (!most)
		return ofs_report_usage("'0' is not a count of files: give 1 or more");
	list = mmap(NULL, sizeof(*list), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return ofs_report("%s", strerror(errno));
	terminal = isatty(STDOUT_FILENO);
	do
		r = ofs_guard_command(show_portion, argv);
	while (r == OFS_EXIT_OK && !list->over);
	if (r == LIST_HERE) {
		guarded = false;
		r = show_portion(argv);
	}
	if (r != OFS_EXIT_OK)
		return r;
	if (ofs_command_json)
		close_json();
	else
		print_sums();
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_list = {
	.name = "list",
	.synopsis = "[OPTION...] [PATH|PATTERN...]",
	.summary = "Lists what is stored: refs, sizes, tokens, how long it stays",
	.help = "PATH is a path in the tree, PATTERN a shell pattern of paths; a folder stands for\n"
		"all that is in it: tasks/T, 'persistent/notes/*'. Without either, all is listed.\n"
		"Each line has the ref, size, tokens (estimated), time since the last use, state\n"
		"(kept; live: its task needs it; the time that is left; or evictable: none is left),\n"
		"path and title. The last line is the total.\n",
	.options = options,
	.json = "print an object: files, an array, and total",
	.operands = OFS_OPERANDS_ANY,
	.run = list_run,
};
