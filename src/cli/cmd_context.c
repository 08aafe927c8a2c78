/* SPDX-License-Identifier: MIT */
/* offload context: shortens the messages of a chat, and restores them. */
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "context/manage/manage.h"
#include "context/settings.h"
#include "io/file.h"

static const char *const formats[] = { "openai", "anthropic", NULL };
static struct ofs_manage_options manage = OFS_MANAGE_OPTIONS_INIT;
static const char *asked_summarizer; /* a command or "endpoint"; NULL: as set in context.ini */
static int mode = -1, format = -1;

static const struct ofs_option options[] = {
	OFS_CHOICE('m', "mode", "MODE", &mode, "mode", ofs_manage_modes + OFS_MANAGE_COMPACT,
		   "auto (default): results become pointers when they come, and older\n"
		   "messages a summary when the whole is too long; compact, compress:\n"
		   "only the one or the other, when the whole is too long"),
	OFS_SET("restore", &mode, 3, "undo what was done to the messages"),
	OFS_TEXT(0, "chat", "ID", &manage.chat_id,
		 "the chat, in whose task results are stored (tasks/ID/context;\n"
		 "default: OFFLOAD_TASK)"),
	OFS_TEXT(0, "store-dir", "PATH", &manage.store_dir,
		 "another directory in the tree for results"),
	OFS_COUNT(0, "keep", "N", &manage.keep, "messages", INT64_MAX,
		  "results (compact: 1) or messages (compress: 2, auto: 6) that stay"),
	OFS_COUNT(0, "max-tool-tokens", "N", &manage.max_tool_message_tokens, "tokens", INT64_MAX,
		  "results with more become pointers (default: where that pays)"),
	OFS_COUNT(0, "max-total-tokens", "N", &manage.max_total_tokens, "tokens", INT64_MAX,
		  "above this, compact and compress begin, and auto summarizes (20000)"),
	OFS_FLAG(0, "prefetch", &manage.prefetch,
		 "insert slices that the user's last message seems to ask for"),
	OFS_TEXT(0, "summarizer", "CMD", &asked_summarizer,
		 "a command that makes the summary: messages as JSON on its input, text\n"
		 "on its output; or 'endpoint': a server, see offload-context(1)"),
	OFS_CHOICE(0, "format", "FORM", &format, "form of messages", formats,
		   "openai or anthropic, if the messages do not show it"),
	OFS_FLAG(0, "list", &manage.list_only, "write only the list of messages"),
	OFS_OPTIONS_END,
};

static int context_write(void *arg, const void *data, size_t len)
{
	(void)arg;
	return fwrite(data, 1, len, stdout) == len ? 0 : -errno;
}

/* Chooses the summarizer: that of the option, else of the settings, else rules. */
static int context_choose(const struct ofs_settings *settings, struct ofs_summarizer *summarizer,
			  struct ofs_error *err)
{
	const char *asked = asked_summarizer ? asked_summarizer : settings->summarizer;

	*summarizer = (struct ofs_summarizer){ .timeout_s = settings->summarizer_timeout_s,
					       .max_tokens = settings->snapshot_tokens };
	if (!asked)
		return 0;
	manage.summarizer = summarizer;
	return ofs_summarizer_choose(summarizer, asked, err);
}

static int context_answer(const struct ofs_buf *input)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings = { 0 };
	const struct ofs_sink sink = { .write = context_write };
	struct ofs_summarizer summarizer;
	OFS_FREE char *note = NULL;
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	ofs_settings_init(&settings);
	r = ofs_access_find(&access, &err);
	if (r == 0)
		r = ofs_settings_load(&settings, access.target.store, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	r = context_choose(&settings, &summarizer, &err);
	if (r < 0)
		return ofs_report_usage("%s", err.text);
	r = ofs_manage((char *)input->data, input->len, &manage, &settings, &access, &sink, &err,
		       &note);
	if (r < 0 && ferror(stdout)) /* main() reports that */
		return OFS_EXIT_FAILURE;
	if (r == -EINVAL)
		return ofs_report_usage("%s", err.text);
	if (r < 0)
		return ofs_report("%s", err.text);
	if (note)
		ofs_report("%s", note);
	return OFS_EXIT_OK;
}

static int context_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	int r = ofs_command_default_task(&manage.default_chat_id, false);

	if (r >= 0)
		return r;
	r = ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &input);
	if (r < 0)
		return ofs_report("cannot read standard input: %s", strerror(-r));
	manage.mode = (enum ofs_manage_mode)(mode + OFS_MANAGE_COMPACT);
	manage.has_format = format >= 0;
	manage.anthropic = format == 1;
	return context_answer(&input);
}

const struct ofs_command ofs_cmd_context = {
	.name = "context",
	.synopsis = "[--mode compact|compress|auto] [--chat ID] [--prefetch] < REQUEST\n"
		    "       offload context --restore < REQUEST",
	.summary = "Shortens the messages of a chat without losing anything",
	.help = "Reads a JSON object with \"messages\" (OpenAI's or Anthropic's form), or a\n"
		"list of messages, and writes one with the messages to send to a model: large\n"
		"results of tools are pointers, older messages a summary. What was taken out\n"
		"is stored; --restore puts it back, byte for byte.\n",
	.options = options,
	.unexpected = ": the messages come from standard input",
	.run = context_run,
};
