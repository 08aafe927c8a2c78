/* SPDX-License-Identifier: MIT */
/* The context engine as an embedding program sees it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <offloadfs/context.h>

static char place[] = "/tmp/offloadfs-library-XXXXXX";
static struct ofs_context *context;
static struct ofs_error err;
static char *text;
static size_t len;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void begin(void)
{
	cr_assert(mkdtemp(place));
	/* A workspace directory, so that no store is found elsewhere. */
	setenv("XDG_DATA_HOME", place, 1);
	unsetenv("OFFLOAD_DIR");
	unsetenv("OFFLOAD_STORE");
	cr_assert_eq(ofs_context_open(place, &err, &context), 0, "%s", err.text);
}

static void finish(void)
{
	ofs_context_close(context);
	free(text);
	nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(context_library, .init = begin, .fini = finish);

/* Returns a request for this mode and these messages, to be freed. */
static char *chat(const char *mode, const char *messages)
{
	char *request = NULL;

	cr_assert_geq(asprintf(&request,
			       "{\"mode\": \"%s\", \"max_total_tokens\": 100, \"messages\": %s}",
			       mode, messages),
		      0);
	return request;
}

static char *long_messages(void)
{
	char *lines = malloc(1), *messages = NULL;
	size_t n = 0;

	for (int i = 0; i < 2000; i++) {
		lines = realloc(lines, n + 64);
		n += (size_t)sprintf(lines + n, "line %d of the output\\n", i);
	}
	cr_assert_geq(
		asprintf(&messages,
			 "[{\"role\":\"user\",\"content\":\"go\"},\n"
			 " {\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":"
			 "{\"name\":\"bash\",\"arguments\":\"{}\"}}]},\n"
			 " {\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"%s\"},\n"
			 " {\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"ok\"}]",
			 lines),
		0);
	free(lines);
	return messages;
}

static char *member(const char *name)
{
	json_t *root = json_loadb(text, len, 0, NULL);
	char *value;

	cr_assert(root, "%s", text);
	value = json_dumps(json_object_get(root, name), JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(root);
	return value;
}

Test(context_library, a_chat_goes_and_comes_back)
{
	char *messages = long_messages(), *request = chat("compact", messages), *managed;

	cr_assert_eq(ofs_context_manage(context, request, strlen(request), &err, &text, &len), 0,
		     "%s", err.text);
	free(request);
	cr_expect_eq(strlen(text), len);
	cr_expect_lt(len, strlen(messages) / 4);
	cr_expect(strstr(text, "(detailed result is stored in refs/"));
	managed = member("messages");
	request = chat("restore", managed);
	free(managed);
	free(text);
	cr_assert_eq(ofs_context_manage(context, request, strlen(request), &err, &text, &len), 0,
		     "%s", err.text);
	free(request);
	cr_expect(strstr(text, "line 1999 of the output"));
	free(messages);
}

Test(context_library, a_call_becomes_a_step_and_steps_a_history)
{
	static const char call[] = "{\"tool\": \"Read\", \"args\": {\"path\": \"a.c\"}, "
				   "\"result\": \"int main(void);\\n\"}";
	char *step;

	cr_assert_eq(ofs_context_reduce(context, call, strlen(call), "job", &err, &step, &len), 0,
		     "%s", err.text);
	cr_expect(strstr(step, "Read a.c (16 bytes, C"), "%s", step);
	cr_expect(strstr(step, "step_001"), "%s", step);
	cr_assert_eq(ofs_context_compact(context, step, len, &err, &text, &len), 0, "%s", err.text);
	cr_expect(strstr(text, "Read a.c"), "%s", text);
	cr_expect_eq(strlen(text), len);
	free(step);
}

Test(context_library, what_is_wrong_is_said)
{
	cr_expect_eq(ofs_context_manage(context, "{}", 2, &err, &text, &len), -EINVAL);
	cr_expect(strstr(err.text, "\"messages\""), "%s", err.text);
	cr_expect_eq(ofs_context_reduce(context, "[]", 2, NULL, &err, &text, &len), -EINVAL);
	cr_expect_eq(ofs_context_reduce(context, "{\"tool\":\"x\"}", 12, "../x", &err, &text, &len),
		     -EINVAL);
	cr_expect_eq(ofs_context_reduce(context, "{\"tool\":\"x\"}", 12, "a\nb", &err, &text, &len),
		     -EINVAL);
	cr_expect(strstr(err.text, "'a?b'"), "%s", err.text);
	cr_expect_eq(ofs_context_compact(context, "x", 1, &err, &text, &len), -EINVAL);
	cr_expect_null(text);
}

Test(context_library, tokens)
{
	cr_expect_eq(ofs_context_tokens("", 0), 0);
	cr_expect_eq(ofs_context_tokens("hello world", 11), 2);
}
