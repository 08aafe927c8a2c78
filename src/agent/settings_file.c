/* SPDX-License-Identifier: MIT */
#include "agent/settings_file.h"

#include <fcntl.h>

#include "io/file.h"
#include "io/path.h"

#define FILE_MAX ((size_t)16 << 20)
#define PROGRAM "offload"

/* ---- entries */

bool ofs_settings_file_is_ours(const char *command, const struct ofs_agent *agent)
{
	OFS_FREE char *words = ofs_format("hook %s", agent->name);
	const char *at = strstr(command, words), *end = at;
	size_t len = strlen(PROGRAM);

	if (!at || at == command || at[-1] != ' ')
		return false;
	while (end > command && strchr(" '\"", end[-1]))
		end--;
	if ((size_t)(end - command) < len || memcmp(end - len, PROGRAM, len) != 0)
		return false;
	end -= len;
	return end == command || strchr("/'\" ", end[-1]);
}

static bool hook_is_ours(json_t *hook, const struct ofs_agent *agent)
{
	const char *command = json_string_value(json_object_get(hook, "command"));

	return command && ofs_settings_file_is_ours(command, agent);
}

/* Returns our hook in the list of an event, or NULL. */
static json_t *find_hook(json_t *list, const struct ofs_agent *agent)
{
	json_t *group, *hook;
	size_t i, j;

	json_array_foreach(list, i, group)
		json_array_foreach(json_object_get(group, "hooks"), j,
				   hook) if (hook_is_ours(hook, agent)) return hook;
	return NULL;
}

/* Returns the member with that name, adding it if missing, or NULL if it has another type. */
static json_t *member(json_t *object, const char *name, json_type type)
{
	json_t *value = json_object_get(object, name);

	if (!value) {
		value = type == JSON_OBJECT ? json_object() : json_array();
		json_object_set_new(object, name, value);
	}
	return json_typeof(value) == type ? value : NULL;
}

int ofs_settings_file_add(struct ofs_settings_file *s, const struct ofs_agent *agent,
			  const struct ofs_agent_entry *entry, const char *command,
			  struct ofs_error *err)
{
	json_t *hooks = member(s->json, "hooks", JSON_OBJECT), *list, *hook;
	const char *had;

	if (!hooks)
		return ofs_error_set(err, EINVAL, "\"hooks\" is not an object");
	list = member(hooks, entry->event, JSON_ARRAY);
	if (!list)
		return ofs_error_set(err, EINVAL, "\"%s\" is not a list", entry->event);
	hook = find_hook(list, agent);
	if (!hook) {
		json_array_append_new(list,
				      json_pack("{s:s, s:[{s:s, s:s}]}", "matcher", entry->matcher,
						"hooks", "type", "command", "command", command));
		return 1;
	}
	had = json_string_value(json_object_get(hook, "command"));
	if (strcmp(had, command) == 0)
		return 0;
	json_object_set_new(hook, "command", json_string(command));
	return 1;
}

/* Removes our hooks from the list of an event, and groups that become empty. */
static bool remove_hooks(json_t *list, const struct ofs_agent *agent)
{
	bool found = false;

	for (size_t i = json_array_size(list); i--;) {
		json_t *hooks = json_object_get(json_array_get(list, i), "hooks");
		size_t had = json_array_size(hooks);

		for (size_t j = had; j--;)
			if (hook_is_ours(json_array_get(hooks, j), agent))
				json_array_remove(hooks, j);
		found |= json_array_size(hooks) < had;
		if (had && !json_array_size(hooks))
			json_array_remove(list, i);
	}
	return found;
}

static bool is_wanted(const struct ofs_agent *agent, const char *event)
{
	for (size_t i = 0; i < agent->n_entries; i++)
		if (strcmp(agent->entries[i].event, event) == 0)
			return true;
	return false;
}

static bool remove_entries(struct ofs_settings_file *s, const struct ofs_agent *agent, bool wanted)
{
	json_t *hooks = json_object_get(s->json, "hooks"), *list;
	const char *event;
	bool found = false;
	void *next;

	json_object_foreach_safe(hooks, next, event, list)
	{
		if ((!wanted && is_wanted(agent, event)) || !remove_hooks(list, agent))
			continue;
		found = true;
		if (!json_array_size(list))
			json_object_del(hooks, event);
	}
	if (found && !json_object_size(hooks))
		json_object_del(s->json, "hooks");
	return found;
}

bool ofs_settings_file_prune(struct ofs_settings_file *s, const struct ofs_agent *agent)
{
	return remove_entries(s, agent, false);
}

bool ofs_settings_file_remove(struct ofs_settings_file *s, const struct ofs_agent *agent)
{
	return remove_entries(s, agent, true);
}

/* ---- text */

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || !strchr(" \t\r\n", text[i]))
			return false;
	return true;
}

int ofs_settings_file_parse(const char *text, size_t len, struct ofs_error *err,
			    struct ofs_settings_file *ret)
{
	json_error_t why;

	if (is_blank(text, len)) {
		ret->json = json_object();
		return 0;
	}
	ret->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!ret->json)
		return ofs_error_set(err, EINVAL, "line %d: %s (it must be JSON without comments)",
				     why.line, why.text);
	if (!json_is_object(ret->json))
		return ofs_error_set(err, EINVAL, "settings must be a JSON object");
	return 0;
}

/* Returns the indentation of the text's first member. Sets *ret_len to 0 if all is on one line. */
static const char *find_indentation(const struct ofs_buf *text, size_t *ret_len)
{
	const char *p = (const char *)text->data, *end, *start;

	*ret_len = 2;
	if (is_blank(p, text->len) || !(p = memchr(p, '{', text->len)))
		return "  ";
	end = (const char *)text->data + text->len;
	start = memchr(p, '\n', (size_t)(end - p));
	*ret_len = 0;
	if (!start)
		return "";
	for (p = ++start; p < end && (*p == ' ' || *p == '\t'); p++)
		++*ret_len;
	/* As in "{\n}". */
	if (!*ret_len && p < end && *p == '}')
		*ret_len = 2;
	return *ret_len && p == start ? "  " : start;
}

char *ofs_settings_file_format(const struct ofs_settings_file *s)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	OFS_FREE char *json = NULL;
	size_t len;
	const char *unit = find_indentation(&s->text, &len);

	json = json_dumps(s->json, len ? JSON_INDENT(1) : 0);
	if (!json)
		ofs_out_of_memory();
	/* No string contains a line break, so blanks at the start of a line are indentation. */
	for (const char *p = json; *p;) {
		size_t depth = p == json || p[-1] == '\n' ? strspn(p, " ") : 0, rest;

		for (p += depth; depth; depth--)
			ofs_buf_append(&out, unit, len);
		rest = strcspn(p, "\n");
		rest += p[rest] == '\n';
		ofs_buf_append(&out, p, rest);
		p += rest;
	}
	if (!s->text.len || s->text.data[s->text.len - 1] == '\n')
		ofs_buf_append_str(&out, "\n");
	return ofs_buf_steal_str(&out);
}

/* ---- the file */

void ofs_settings_file_finish(struct ofs_settings_file *s)
{
	free(s->path);
	ofs_buf_finish(&s->text);
	json_decref(s->json);
	*s = (struct ofs_settings_file){ 0 };
}

static int look(const char *path, struct stat *ret)
{
	*ret = (struct stat){ 0 };
	if (stat(path, ret) == 0)
		return S_ISREG(ret->st_mode) ? 0 : -ENOTSUP;
	return errno == ENOENT ? 0 : -errno;
}

int ofs_settings_file_load(const char *path, struct ofs_error *err, struct ofs_settings_file *ret)
{
	struct stat st;
	int r;

	*ret = (struct ofs_settings_file){ 0 };
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		ret->path = realpath(path, NULL);
		if (!ret->path)
			return ofs_error_set(err, errno, "cannot follow the link '%s': %s", path,
					     strerror(errno));
	} else {
		ret->path = ofs_strdup(path);
	}
	r = look(ret->path, &ret->st);
	if (r == 0 && ret->st.st_ino)
		r = ofs_io_read_file(AT_FDCWD, ret->path, FILE_MAX, &ret->text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read '%s': %s", ret->path,
				     r == -ENOTSUP ? "it is not a regular file" : strerror(-r));
	return 0;
}

int ofs_settings_file_read(const char *path, struct ofs_error *err, struct ofs_settings_file *ret)
{
	int r = ofs_settings_file_load(path, err, ret);

	if (r < 0)
		return r;
	return ofs_settings_file_parse((const char *)ret->text.data, ret->text.len, err, ret);
}

/* The file may change while a person considers the question. */
static bool is_unchanged(const struct ofs_settings_file *s)
{
	struct stat st;

	return look(s->path, &st) == 0 && st.st_ino == s->st.st_ino &&
	       st.st_size == s->st.st_size && st.st_mtim.tv_sec == s->st.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == s->st.st_mtim.tv_nsec;
}

/* Writes and syncs the temporary file, with the owner and mode of the old one. */
static int fill_file(int fd, const struct ofs_settings_file *s)
{
	OFS_FREE char *text = s->whole ? ofs_strdup(s->whole) : ofs_settings_file_format(s);
	mode_t mask = umask(0);
	int r;

	umask(mask);
	if (s->st.st_ino && (s->st.st_uid != geteuid() || s->st.st_gid != getegid()) &&
	    fchown(fd, s->st.st_uid, s->st.st_gid) < 0)
		return -errno;
	r = ofs_io_chmod(fd, s->st.st_ino ? s->st.st_mode & 07777 : 0666 & ~mask);
	if (r == 0)
		r = ofs_io_pwrite(fd, text, strlen(text), 0);
	return r == 0 ? ofs_io_sync(fd) : r;
}

static int sync_folder(const char *folder)
{
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);

	return fd < 0 ? fd : ofs_io_sync(fd);
}

int ofs_settings_file_write(const struct ofs_settings_file *s)
{
	OFS_FREE char *folder = ofs_path_parent(s->path), *temp = ofs_format("%s.XXXXXX", s->path);
	OFS_CLOSE int fd = -1;
	int r = ofs_path_make(folder, 0777);

	if (r < 0)
		return r;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill_file(fd, s);
	if (r == 0 && !is_unchanged(s))
		r = -ESTALE;
	if (r == 0)
		r = ofs_io_rename(AT_FDCWD, temp, s->path);
	if (r < 0) {
		ofs_io_unlink(AT_FDCWD, temp);
		return r;
	}
	return sync_folder(folder);
}

int ofs_settings_file_delete(const struct ofs_settings_file *s, bool folder_too)
{
	OFS_FREE char *folder = ofs_path_parent(s->path);

	if (!is_unchanged(s))
		return -ESTALE;
	if (unlink(s->path) < 0)
		return -errno;
	if (!folder_too || rmdir(folder) < 0) /* it is not empty */
		return sync_folder(folder);
	return 0;
}
