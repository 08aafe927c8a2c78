/* SPDX-License-Identifier: MIT */
#include "cli/ending.h"

#include "cli/command.h"
#include "cli/report.h"
#include "io/path.h"

/* Takes an item of the collection, which also removes files elsewhere. Those are not listed. */
static int tell(void *arg, json_t *item)
{
	struct ofs_ending *e = arg;
	const char *path = json_string_value(json_object_get(item, "path"));
	size_t len = strlen(e->dir);

	if (path && e->job.dir) {
		OFS_FREE char *whole = ofs_path_join(e->dir, path);

		json_object_set_new(item, "path", ofs_json_string(whole));
	} else if (!path || strncmp(path, e->dir, len) != 0 || path[len] != '/') {
		return 0;
	}
	ofs_ending_take(e, item);
	return 0;
}

void ofs_ending_init(struct ofs_ending *e, const struct ofs_access *access, const char *dir,
		     bool own, bool dry_run)
{
	*e = (struct ofs_ending){
		.dir = dir,
		.dry_run = dry_run,
		.items = json_array(),
		.told = json_object(),
		.job = { .access = access, .dir = own ? dir : NULL, .item = tell, .arg = e }
	};
}

void ofs_ending_finish(struct ofs_ending *e)
{
	ofs_job_finish(&e->job);
	json_decref(e->items);
	json_decref(e->told);
}

int ofs_ending_take(struct ofs_ending *e, json_t *item)
{
	const char *path = json_string_value(json_object_get(item, "path"));

	if (json_object_get(e->told, path))
		return OFS_EXIT_OK;
	json_object_set_new(e->told, path, json_true());
	if (ofs_collected_is(item, "remove")) {
		e->removed++;
		e->removed_bytes += json_integer_value(json_object_get(item, "size"));
	} else if (ofs_collected_is(item, "promote")) {
		e->promoted++;
	} else {
		e->kept++;
	}
	if (ofs_command_json)
		return ofs_print_item(e->items, json_incref(item), NULL);
	ofs_collection_print_item(item, e->dry_run, stdout);
	return OFS_EXIT_OK;
}

int ofs_ending_take_rest(struct ofs_ending *e, const struct ofs_files *files)
{
	int code = OFS_EXIT_OK;

	/* If the tree does not remember all items, nobody knows what would become of the rest. */
	if (e->dry_run && e->job.status && ofs_job_untold(&e->job))
		return code;
	for (size_t i = 0; i < files->count; i++) {
		json_t *item;

		if (json_object_get(e->told, files->list[i].path))
			continue;
		item = ofs_file_describe(e->job.access->backend, &files->list[i]);
		json_object_set_new(item, "action", json_string("keep"));
		json_object_set(item, "why", json_object_get(item, "lifecycle"));
		json_object_set_new(item, "at", json_null());
		json_object_set_new(item, "to", json_null());
		json_object_del(item, "lifecycle");
		code |= ofs_ending_take(e, item);
		json_decref(item);
	}
	return code;
}

json_t *ofs_ending_sum(const struct ofs_ending *e)
{
	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:O}", "dry_run", e->dry_run, "promoted",
			 e->promoted, "removed", e->removed, "removed_bytes", e->removed_bytes,
			 "kept", e->kept, "items", e->items);
}
