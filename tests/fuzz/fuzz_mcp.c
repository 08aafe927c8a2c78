/* SPDX-License-Identifier: MIT */
/*
 * Messages of the Model Context Protocol, and any other bytes. The first byte chooses the headers.
 * An answer is one JSON object on one line with the id of the request, and an error or a result as
 * its version requires. A stub replaces the service, so no tree is needed.
 */
#include "fuzz.h"
#include "service/mcp/mcp.h"

#define SERVER_META "io.modelcontextprotocol/serverInfo"

/* The linker puts them in place of the service's functions. */
int __wrap_ofs_service_call(struct ofs_service *s, const struct ofs_caller *by,
			    const struct ofs_call *call, const json_t *args, struct ofs_error *err,
			    json_t **ret);

/* Succeeds or fails as calls do, depending on the size of the arguments. */
int __wrap_ofs_service_call(struct ofs_service *s, const struct ofs_caller *by,
			    const struct ofs_call *call, const json_t *args, struct ofs_error *err,
			    json_t **ret)
{
	static const int codes[] = { 0, -EINVAL, -ENOENT, -EKEYEXPIRED, -ERANGE, -ETIMEDOUT };
	size_t asked =
		json_object_size(args) + json_string_length(json_object_get(args, "memory_id"));
	int r = codes[asked % OFS_ARRAY_SIZE(codes)];

	FUZZ_ASSERT(call && (!args || json_is_object(args)));
	if (strcmp(call->name, "memory_info") == 0)
		r = 0;
	if (r < 0)
		return ofs_error_set(err, -r, "it failed: %zu", asked);
	*ret = json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:{s:s, s:i}, s:[{s:s, s:s, s:n, s:s, s:i}], "
		"s:[{s:s}], s:[{s:s, s:s, s:n, s:i}], s:s, s:s, s:i}",
		"memory_id", "k3f9x2", "path", "cache/\xc3\xa4", "text", "a\nb", "encoding",
		asked % 7 ? "utf-8" : "lossy", "byte_offset", 0, "byte_len", 3, "bytes", 9, "next",
		"memory_id", "k3f9x2", "line_start", 3, "memory_refs", "id", "k3f9x2", "path", "x",
		"title", "mime", "text/plain", "bytes", 3, "hits", "path", "x", "files", "id",
		"k3f9x2", "path", "x", "title", "bytes", 3, "next_cursor", "c", "ref", "k3f9x2",
		"size", 70000);
	FUZZ_ASSERT(*ret);
	return 0;
}

int __wrap_ofs_service_use(struct ofs_service *s, const char *agent, bool make,
			   int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
			   void *arg, struct ofs_error *err);

int __wrap_ofs_service_use(struct ofs_service *s, const char *agent, bool make,
			   int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
			   void *arg, struct ofs_error *err)
{
	return ofs_error_set(err, EIO, "it cannot be read");
}

/* Returns headers that may or may not agree with the body, or NULL for none. */
static const struct ofs_mcp_headers *headers_of(unsigned int n, struct ofs_mcp_headers *ret)
{
	static const char *const versions[] = { NULL, "2026-07-28", "2025-11-25", "x\xff" };
	static const char *const methods[] = { NULL, "tools/call", "resources/read", "tools/list" };
	static const char *const names[] = { NULL, "memory_fetch",
					     "=?base64?bWVtb3J5X2ZldGNo?=", "=?base64?!?=" };

	*ret = (struct ofs_mcp_headers){ versions[n & 3], methods[n >> 2 & 3], names[n >> 4 & 3] };
	return n & 64 ? ret : NULL;
}

static void check_error(const json_t *error)
{
	const char *text = json_string_value(json_object_get(error, "message"));
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	FUZZ_ASSERT(text && *text);
	FUZZ_ASSERT(code == -32700 || (code <= -32600 && code >= -32603) || code == -32002 ||
		    code == -32020 || code == -32022);
	FUZZ_ASSERT(code != -32022 ||
		    json_is_array(json_object_get(json_object_get(error, "data"), "supported")));
}

static void check_result(const struct ofs_mcp_message *m, const json_t *result)
{
	const json_t *meta = json_object_get(result, "_meta");

	FUZZ_ASSERT(json_is_object(result));
	FUZZ_ASSERT(m->modern == json_is_string(json_object_get(result, "resultType")));
	FUZZ_ASSERT(m->modern == json_is_object(json_object_get(meta, SERVER_META)));
}

static void check_answer(const struct ofs_mcp_message *m, const struct ofs_mcp_answer *answer)
{
	json_t *json = json_loads(answer->text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const json_t *error = json_object_get(json, "error"),
		     *result = json_object_get(json, "result");

	FUZZ_ASSERT(json && !strchr(answer->text, '\n'));
	FUZZ_ASSERT(!error != !result);
	FUZZ_ASSERT(answer->status == 200 || answer->status == 400 || answer->status == 404);
	FUZZ_ASSERT(m->id ? json_equal(json_object_get(json, "id"), m->id)
			  : !json_object_get(json, "id"));
	if (error)
		check_error(error);
	else
		check_result(m, result);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message m = { 0 };
	OFS_CLEANUP(ofs_mcp_answer_finish) struct ofs_mcp_answer answer = { 0 }, declined = { 0 };
	OFS_FREE char *text = size ? fuzz_copy(data + 1, size - 1) : NULL;
	struct ofs_mcp_headers headers;

	if (!size)
		return 0;
	if (ofs_mcp_read(text, size - 1, headers_of(data[0], &headers), &m, &answer)) {
		FUZZ_ASSERT(m.id && m.method);
		ofs_mcp_answer(NULL, NULL, &m, &answer);
		FUZZ_ASSERT(answer.text);
		ofs_mcp_decline(&m, OFS_MCP_LATE, &declined);
		check_answer(&m, &declined);
	}
	FUZZ_ASSERT(!ofs_mcp_message_cancels(&m) || !m.id);
	if (answer.text)
		check_answer(&m, &answer);
	return 0;
}
