/* SPDX-License-Identifier: MIT */
/*
 * Messages of the Model Context Protocol: JSON-RPC 2.0, one object each. Both eras of the protocol
 * can be mixed, since each message shows its own: modern ones (2026-07-28) have their version and
 * the client's capabilities in _meta, legacy ones do not.
 */
#pragma once

#include <jansson.h>

#include "base/util.h"

enum {
	OFS_MCP_PARSE_ERROR = -32700,
	OFS_MCP_INVALID_REQUEST = -32600,
	OFS_MCP_METHOD_NOT_FOUND = -32601,
	OFS_MCP_INVALID_PARAMS = -32602,
	OFS_MCP_INTERNAL_ERROR = -32603,
	OFS_MCP_RESOURCE_NOT_FOUND = -32002, /* legacy only; modern: OFS_MCP_INVALID_PARAMS */
	OFS_MCP_HEADER_MISMATCH = -32020,
	OFS_MCP_UNSUPPORTED_VERSION = -32022,
};

struct ofs_mcp_version {
	const char *name; /* "2026-07-28" */
	bool modern;
};

/* The supported versions, newest first, ended by one without a name. */
extern const struct ofs_mcp_version ofs_mcp_versions[];

/* Returns their names as a new array. */
json_t *ofs_mcp_version_names(void);

/* HTTP headers that repeat parts of the body. Borrowed; NULL: the request lacks the header. */
struct ofs_mcp_headers {
	const char *version; /* MCP-Protocol-Version */
	const char *method; /* Mcp-Method */
	const char *name; /* Mcp-Name */
};

/* The error with which a message is answered. */
struct ofs_mcp_error {
	int code; /* 0: no error */
	int status; /* of HTTP */
	char *text; /* allocated; one sentence */
	json_t *data; /* NULL: none */
};

void ofs_mcp_error_finish(struct ofs_mcp_error *e);

/* Sets the error, with HTTP status 400. Returns -1. */
int ofs_mcp_error_set(struct ofs_mcp_error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the error for a cursor that the server never issued. */
void ofs_mcp_error_cursor(struct ofs_mcp_error *e);

struct ofs_mcp_message {
	json_t *json; /* the whole message; owns what follows */
	const json_t *id; /* a string or an integer; NULL: no answer is due or possible */
	const char *method; /* NULL: an answer, which a server ignores */
	const json_t *params; /* an object; NULL: none */
	const struct ofs_mcp_version *version; /* NULL: an unknown legacy version */
	bool modern;
};

void ofs_mcp_message_finish(struct ofs_mcp_message *m);

/*
 * Reads a message that came with these headers (NULL: not over HTTP). 0, or -1 with `err` set, and
 * the id in `ret` if it could be read. `ret` must be finished in either case.
 */
int ofs_mcp_message_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
			 struct ofs_mcp_error *err, struct ofs_mcp_message *ret);

/* Returns a parameter that is a string without NULs, or NULL. */
const char *ofs_mcp_message_param(const struct ofs_mcp_message *m, const char *name);

/* Returns the id of the request that a notification cancels; NULL for other messages. */
const json_t *ofs_mcp_message_cancels(const struct ofs_mcp_message *m);
