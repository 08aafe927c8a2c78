/* SPDX-License-Identifier: MIT */
#include "client/describe.h"

#include "base/clock.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/text_form.h"

const struct ofs_operand_field ofs_operand_fields[] = {
	{ "path", "path" },
	{ "ref", "ref" },
	{ "tier", "tier" },
	{ "category", "category" },
	{ "task", "task" },
	{ "origin_task", "origin_task", .label = "of task" },
	{ "origin_category", "origin_category", .label = "made as" },
	{ "title", "title" },
	{ "tags", "tags" },
	{ "type", "mime" },
	{ "size", NULL, "byte" },
	{ "lines", "lines", "line" },
	{ "tokens", "tokens", "token" },
	{ "stored_bytes", "stored_bytes", "byte", "stored" },
	{ "sha256", "sha256" },
	{ "created", "created" },
	{ "modified", NULL },
	{ "important", "important" },
	{ "ttl", "ttl" },
	{ "expires", "expires" },
	{ "used", "used" },
	{ "lifecycle", "lifecycle" },
	{ NULL },
};

/* Redacts a text, except for the path, by which the file must be found. */
static json_t *describe_string(const char *key, const char *text)
{
	OFS_FREE char *shown = strcmp(key, "path") ? ofs_redact_string(text) : ofs_strdup(text);

	return ofs_json_string(shown);
}

/* Reads the attributes. A missing or unsupported one becomes null. */
static int describe_load(const struct ofs_operand *o, json_t *json)
{
	for (const struct ofs_operand_field *f = ofs_operand_fields; f->key; f++) {
		OFS_FREE char *text = NULL;
		json_t *value = json_null();
		int r = -ENODATA;

		if (f->attribute)
			r = ofs_backend_attribute(o->backend, o->path, f->attribute, &text);
		if (r < 0 && r != -ENODATA && r != -ENOTSUP)
			return r;
		if (r == 0 && f->noun)
			value = json_integer(strtoll(text, NULL, 10));
		else if (r == 0 && *text)
			value = describe_string(f->key, text);
		json_object_set_new(json, f->key, value);
	}
	return 0;
}

static void describe_complete(const struct stat *attr, json_t *json)
{
	const char *important = json_string_value(json_object_get(json, "important"));
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf time = OFS_BUF_INIT;

	ofs_text_time((int64_t)attr->st_mtim.tv_sec * OFS_NS_PER_S, &time);
	json_object_set_new(json, "modified", json_string(ofs_buf_str(&time)));
	json_object_set_new(json, "size", json_integer((json_int_t)attr->st_size));
	json_object_set_new(json, "important", json_boolean(important && atoi(important) > 0));
	if (json_is_null(json_object_get(json, "type")))
		json_object_set_new(json, "type",
				    json_string(S_ISDIR(attr->st_mode)	 ? "directory"
						: S_ISREG(attr->st_mode) ? "file"
									 : "special file"));
}

int ofs_operand_describe(struct ofs_operand *o, const char *name, struct ofs_error *err,
			 json_t **ret)
{
	json_t *json = json_object();
	const char *real;
	int r = describe_load(o, json);

	if (r < 0) {
		json_decref(json);
		return ofs_error_set(err, -r, "cannot read the attributes of '%s': %s", name,
				     ofs_backend_strerror(-r));
	}
	describe_complete(&o->attr, json);
	/* A ref does not show where its file is; the attribute does. */
	real = json_string_value(json_object_get(json, "path"));
	if (real) {
		free(o->path);
		o->path = ofs_strdup(real);
	}
	*ret = json;
	return 0;
}
