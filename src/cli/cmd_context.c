/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/target.h"
#include "context/manage/manage.h"
#include "context/settings.h"
#include "io/file.h"

struct context_options {
	struct ofs_target_options target;
	struct ofs_manage_options manage;
	const char *summarizer; /* command or "endpoint"; NULL: as is set */
};

static int context_write(void *arg, const void *data, size_t len)
{
	(void)arg;
	return fwrite(data, 1, len, stdout) == len ? 0 : -errno;
}

static bool context_parse_count(const char *text, int64_t *ret)
{
	uint64_t n;

	if (!ofs_command_parse_count(text, INT64_MAX, &n))
		return false;
	*ret = (int64_t)n;
	return true;
}

/* Who sums up: as the option says, else the settings; nobody, and then it is done by rule. */
static int context_choose(struct context_options *opts, const struct ofs_settings *settings,
			  struct ofs_summarizer *summarizer, struct ofs_error *err)
{
	const char *asked = opts->summarizer ? opts->summarizer : settings->summarizer;

	*summarizer = (struct ofs_summarizer){ .timeout_s = settings->summarizer_timeout_s,
					       .max_tokens = settings->snapshot_tokens };
	if (!asked)
		return 0;
	opts->manage.summarizer = summarizer;
	return ofs_summarizer_choose(summarizer, asked, err);
}

static int context_answer(struct context_options *opts, const struct ofs_buf *input)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings;
	const struct ofs_sink sink = { .write = context_write };
	struct ofs_summarizer summarizer;
	OFS_FREE char *note = NULL;
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &opts->target);
	ofs_settings_init(&settings);
	r = ofs_access_find(&access, &err);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	r = ofs_settings_load_store(&settings, access.target.store, &err);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	r = context_choose(opts, &settings, &summarizer, &err);
	if (r < 0)
		return ofs_report_usage("%s", err.text);
	r = ofs_manage((char *)input->data, input->len, &opts->manage, &settings, &access, &sink,
		       &err, &note);
	if (r < 0 && ferror(stdout)) /* main() says so */
		return OFS_EXIT_FAILURE;
	if (r == -EINVAL)
		return ofs_report_usage("%s", err.text);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	if (note)
		ofs_report("%s", note);
	return OFS_EXIT_OK;
}

static int context_run(const struct ofs_command *self, int argc, char **argv)
{
	enum {
		RESTORE = 256,
		PREFETCH,
		LIST,
		CHAT,
		STORE_DIR,
		KEEP,
		TOTAL,
		RESULT,
		SUMMARIZER,
		FORMAT
	};
	static const struct option options[] = {
		OFS_TARGET_LONG,
		{ "mode", required_argument, NULL, 'm' },
		{ "restore", no_argument, NULL, RESTORE },
		{ "prefetch", no_argument, NULL, PREFETCH },
		{ "list", no_argument, NULL, LIST },
		{ "chat", required_argument, NULL, CHAT },
		{ "store-dir", required_argument, NULL, STORE_DIR },
		{ "summarizer", required_argument, NULL, SUMMARIZER },
		{ "format", required_argument, NULL, FORMAT },
		{ "keep", required_argument, NULL, KEEP },
		{ "max-total-tokens", required_argument, NULL, TOTAL },
		{ "max-tool-tokens", required_argument, NULL, RESULT },
		{ 0 },
	};
	struct context_options opts = { .manage = OFS_MANAGE_OPTIONS_INIT };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	int64_t *count;
	int c, r;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":" OFS_TARGET_SHORT "m:", options, NULL)) != -1) {
		if (ofs_target_take_option(&opts.target, c, optarg))
			continue;
		count = NULL;
		switch (c) {
		case 'm':
			if (!ofs_manage_mode_parse(optarg, &opts.manage.mode))
				return ofs_report_usage(
					"'%s' is not a mode: give compact, compress, auto or "
					"restore",
					optarg);
			break;
		case RESTORE:
			opts.manage.mode = OFS_MANAGE_RESTORE;
			break;
		case PREFETCH:
			opts.manage.prefetch = true;
			break;
		case LIST:
			opts.manage.list_only = true;
			break;
		case CHAT:
			opts.manage.chat_id = optarg;
			break;
		case FORMAT:
			if (!ofs_manage_format_parse(optarg, &opts.manage.anthropic))
				return ofs_report_usage(
					"'%s' is not a form of messages: openai, anthropic",
					optarg);
			opts.manage.has_format = true;
			break;
		case SUMMARIZER:
			opts.summarizer = optarg;
			break;
		case STORE_DIR:
			opts.manage.store_dir = optarg;
			break;
		case KEEP:
			count = &opts.manage.keep;
			break;
		case TOTAL:
			count = &opts.manage.max_total_tokens;
			break;
		case RESULT:
			count = &opts.manage.max_tool_message_tokens;
			break;
		case 'h':
			ofs_command_print_help(self, stdout);
			return OFS_EXIT_OK;
		default:
			return ofs_report_option(c, argv);
		}
		if (count && !context_parse_count(optarg, count))
			return ofs_report_usage("'%s' is not a count of %s", optarg,
						c == KEEP ? "messages" : "tokens");
	}
	if (optind < argc)
		return ofs_report_usage(
			"unexpected argument '%s': the messages come from standard input",
			argv[optind]);
	r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &input);
	if (r < 0)
		return ofs_report_failure("cannot read standard input: %s", strerror(-r));
	return context_answer(&opts, &input);
}

const struct ofs_command ofs_cmd_context = {
	.name = "context",
	.synopsis = "[--mode compact|compress|auto] [--chat ID] [--prefetch] < REQUEST\n"
		    "       offload context --restore < REQUEST",
	.summary = "Makes the messages of a chat shorter, so that nothing of them is lost",
	.help = "Reads a JSON object with \"messages\" (OpenAI's or Anthropic's form), or a list of messages,\n"
		"and writes one with those that a model is to get: large results of tools are pointers,\n"
		"older messages a summary. What was taken out is stored; --restore puts it back, byte for\n"
		"byte.\n\n"
		"  -m, --mode MODE         compact: results over the limit become pointers; compress: older\n"
		"                          messages become a summary; auto (default): compact, and compress\n"
		"                          when that gains too little\n"
		"      --restore           undo what was done to the messages\n"
		"      --chat ID           the chat, as whose task it is stored (tasks/ID/context)\n"
		"      --store-dir DIR     another directory in the tree for that\n"
		"      --keep N            results (compact) or messages (compress) at the end that stay\n"
		"      --max-tool-tokens N results with more become pointers (default: 2000)\n"
		"      --max-total-tokens N  above, pointers become shorter, and auto may compress (20000)\n"
		"      --prefetch          put in what the last message of the user seems to ask for\n"
		"      --summarizer CMD    a command that makes the summary: messages as JSON on its input, text\n"
		"                          on its output; or 'endpoint': a server, see offload(1)\n"
		"      --format FORM       openai or anthropic, where the messages do not tell it\n"
		"      --list              write the list of messages alone\n" OFS_TARGET_HELP,
	.run = context_run,
};
