/* SPDX-License-Identifier: MIT */
/* memory_promote, memory_pin and memory_info: move, keep and describe one file. */
#include <string.h>

#include "base/buf.h"
#include "client/describe.h"
#include "client/naming.h"
#include "client/promotion.h"
#include "service/call_run.h"

/* Sets *ret to the tags of the call, separated by commas, allocated; NULL: none. 0 or -EINVAL. */
static int join_tags(struct ofs_call_run *c, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT;
	const json_t *tags = json_object_get(c->args, "tags");

	for (size_t i = 0; i < json_array_size(tags); i++) {
		const char *tag = json_string_value(json_array_get(tags, i));

		if (strchr(tag, ','))
			return ofs_error_set(c->err, EINVAL, "the tag '%s' has a comma in it", tag);
		ofs_buf_printf(&all, "%s%s", i ? "," : "", tag);
	}
	if (all.len > OFS_TAGS_MAX)
		return ofs_error_set(c->err, EINVAL, "the tags have %zu bytes: at most %d", all.len,
				     OFS_TAGS_MAX);
	*ret = all.len ? ofs_buf_steal_str(&all) : NULL;
	return 0;
}

static json_t *shown(const struct ofs_call_run *c, const json_t *path)
{
	OFS_FREE char *text = ofs_call_shown(c, json_string_value(path));

	return ofs_call_string(text);
}

static int promote_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	const char *tier = ofs_call_text(c, "tier");
	struct ofs_promotion p = {
		.top = tier && strcmp(tier, "archive") == 0 ? "archive" : "persistent",
		.category = ofs_call_text(c, "category"),
	};
	OFS_FREE char *tags = NULL;
	json_t *done;
	int r = p.category ? ofs_naming_check("category", p.category, c->err) : 0;

	if (r == 0)
		r = join_tags(c, &tags);
	if (r == 0)
		r = ofs_call_find_file(c, ofs_call_text(c, "memory_id"), &file);
	p.tags = tags;
	if (r == 0)
		r = ofs_promote(&p, c->access->backend, file.path, &file.attr, c->err, &done);
	if (r < 0)
		return r;
	c->result = json_pack("{s:O, s:o, s:o, s:o, s:o, s:O}", "memory_id",
			      json_object_get(done, "ref"), "path",
			      shown(c, json_object_get(done, "path")), "was",
			      shown(c, json_object_get(done, "was")), "category",
			      ofs_call_string(json_string_value(json_object_get(done, "category"))),
			      "tags",
			      ofs_call_tags(json_string_value(json_object_get(done, "tags"))),
			      "moved", json_object_get(done, "moved"));
	json_decref(done);
	return 0;
}

static int pin_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	bool important = ofs_call_flag(c, "important", true);
	json_t *path, *id;
	int r = ofs_call_find_file(c, ofs_call_text(c, "memory_id"), &file);

	if (r == 0 && !S_ISREG(file.attr.st_mode))
		r = ofs_error_set(c->err, EINVAL, "'%s' is a directory: pin the files in it",
				  file.id);
	if (r < 0)
		return r;
	r = ofs_backend_set_attribute(c->access->backend, file.path, "important",
				      important ? "1" : "0");
	if (r < 0)
		return ofs_call_failed(c, r, "pin", file.id);
	path = ofs_call_attribute(c, file.path, "path");
	id = ofs_call_attribute(c, file.path, "ref");
	c->result = json_pack("{s:o, s:o, s:b}", "memory_id", id, "path",
			      json_is_string(path) ? shown(c, path) : ofs_call_string(file.path),
			      "important", important);
	json_decref(path);
	return 0;
}

static int info_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	struct ofs_operand o;
	const char *key;
	json_t *value;
	void *next;
	int r = ofs_call_find_file(c, ofs_call_text(c, "memory_id"), &file);

	if (r < 0)
		return r;
	o = (struct ofs_operand){ .backend = c->access->backend, .attr = file.attr };
	o.path = ofs_steal(file.path);
	r = ofs_operand_describe(&o, file.id, c->err, &c->result);
	file.path = o.path;
	if (r < 0)
		return r;
	json_object_set_new(c->result, "path", json_string_nocheck(file.path));
	json_object_set_new(c->result, "path", shown(c, json_object_get(c->result, "path")));
	json_object_foreach_safe(c->result, next, key, value) if (json_is_string(value))
		json_object_set_new(c->result, key, ofs_call_string(json_string_value(value)));
	return 0;
}

const struct ofs_call ofs_call_memory_promote = { "memory_promote",
						  OFS_CALL_TOOL | OFS_CALL_CHANGES, promote_call };

const struct ofs_call ofs_call_memory_pin = { "memory_pin", OFS_CALL_CHANGES, pin_call };

const struct ofs_call ofs_call_memory_info = { "memory_info", 0, info_call };
