/* SPDX-License-Identifier: MIT */
#include "agent/mcp_entry.h"

#include "agent/toml_table.h"
#include "base/text.h"
#include "client/workspace.h"
#include "io/path.h"

#define PROGRAM "offload"
#define COMMAND "mcp"

static const struct ofs_mcp_client clients[] = {
	{
		.name = "claude-code",
		.title = "Claude Code",
		.file = ".mcp.json",
		.user_file = ".claude.json",
		.variable = "CLAUDE_CONFIG_DIR",
		.list = "mcpServers",
		.type = "stdio",
		.todo = "Claude Code asks once whether to use the servers of a project.",
	},
	{
		.name = "codex",
		.title = "Codex",
		.file = ".codex/config.toml",
		.user_file = "config.toml",
		.home_folder = ".codex",
		.variable = "CODEX_HOME",
		.list = "mcp_servers",
		.toml = true,
		.todo = "Codex reads these settings only in a trusted project.",
	},
	{
		.name = "opencode",
		.title = "opencode",
		.file = "opencode.json",
		.user_file = "opencode/opencode.json",
		.home_folder = ".config",
		.variable = "XDG_CONFIG_HOME",
		.other_file = "opencode.jsonc",
		.list = "mcp",
		.type = "local",
		.one_list = true,
	},
	{
		.name = "gemini",
		.title = "Gemini CLI",
		.file = ".gemini/settings.json",
		.user_file = ".gemini/settings.json",
		.list = "mcpServers",
		.todo = "Gemini CLI uses them only in a trusted folder.",
	},
	{
		.name = "vscode",
		.title = "VS Code",
		.file = ".vscode/mcp.json",
		.user_file = "Code/User/mcp.json",
		.home_folder = ".config",
		.variable = "XDG_CONFIG_HOME",
		.list = "servers",
		.type = "stdio",
		.todo = "VS Code asks whether to trust the server when it first starts it.",
	},
	{
		.name = "cursor",
		.title = "Cursor",
		.file = ".cursor/mcp.json",
		.user_file = ".cursor/mcp.json",
		.list = "mcpServers",
	},
};

const struct ofs_mcp_client *ofs_mcp_client_number(size_t number)
{
	return number < OFS_ARRAY_SIZE(clients) ? &clients[number] : NULL;
}

const struct ofs_mcp_client *ofs_mcp_client_find(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(clients); i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

/* ---- where it is */

static int user_path(const struct ofs_mcp_client *client, struct ofs_error *err, char **ret)
{
	const char *folder = client->variable ? getenv(client->variable) : NULL;
	const char *home = getenv("HOME");
	OFS_FREE char *in_home = NULL;

	if (!folder || folder[0] != '/') {
		if (!home || home[0] != '/')
			return ofs_error_set(err, ENOENT,
					     "HOME is not set, so there is no settings file");
		in_home = client->home_folder ? ofs_path_join(home, client->home_folder)
					      : ofs_strdup(home);
		folder = in_home;
	}
	*ret = ofs_path_join(folder, client->user_file);
	return 0;
}

int ofs_mcp_entry_path(const struct ofs_mcp_client *client, bool user, struct ofs_error *err,
		       char **ret, char **ret_workspace)
{
	OFS_FREE char *folder = NULL, *other = NULL;
	int r;

	*ret_workspace = NULL;
	if (user)
		r = user_path(client, err, ret);
	else
		r = ofs_workspace_here(err, ret_workspace);
	if (r < 0)
		return r;
	if (!user)
		*ret = ofs_path_join(*ret_workspace, client->file);
	if (!client->other_file)
		return 0;
	folder = ofs_path_parent(*ret);
	other = ofs_path_join(folder, client->other_file);
	if (access(other, F_OK) == 0) {
		free(*ret);
		*ret = ofs_steal(other);
	}
	return 0;
}

/* ---- recognizing our entry */

/* Returns whether a command runs our server, by any path and with any options. */
static bool is_ours(const char *program, const char *first)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return program && first && strcmp(slash ? slash + 1 : program, PROGRAM) == 0 &&
	       strcmp(first, COMMAND) == 0;
}

static int refuse_other(struct ofs_error *err)
{
	return ofs_error_set(err, EEXIST,
			     "its server '" OFS_MCP_ENTRY "' belongs to another program");
}

/* ---- JSON */

static json_t *list_of(const char *const words[])
{
	json_t *list = json_array();

	for (; *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static bool entry_is_ours(const struct ofs_mcp_client *client, const json_t *entry)
{
	const json_t *command = json_object_get(entry, "command"),
		     *args = client->one_list ? command : json_object_get(entry, "args");

	return is_ours(json_string_value(client->one_list ? json_array_get(command, 0) : command),
		       json_string_value(json_array_get(args, client->one_list)));
}

/* Sets a member, whose reference is taken. Returns whether its value changed. */
static bool set_member(json_t *object, const char *name, json_t *value)
{
	if (json_equal(json_object_get(object, name), value)) {
		json_decref(value);
		return false;
	}
	json_object_set_new(object, name, value);
	return true;
}

/* Sets the command; members that have nothing to do with it stay. */
static bool set_entry(const struct ofs_mcp_client *client, json_t *entry, const char *const argv[])
{
	bool changed = client->type && set_member(entry, "type", json_string(client->type));

	if (client->one_list)
		return set_member(entry, "command", list_of(argv)) || changed;
	changed |= set_member(entry, "command", json_string(argv[0]));
	return set_member(entry, "args", list_of(argv + 1)) || changed;
}

static int add_json(const struct ofs_mcp_client *client, struct ofs_settings_file *s,
		    const char *const argv[], struct ofs_error *err)
{
	json_t *list = json_object_get(s->json, client->list), *entry;

	if (list && !json_is_object(list))
		return ofs_error_set(err, EINVAL, "\"%s\" is not an object", client->list);
	entry = json_object_get(list, OFS_MCP_ENTRY);
	if (entry && !entry_is_ours(client, entry))
		return refuse_other(err);
	if (!list) {
		list = json_object();
		json_object_set_new(s->json, client->list, list);
	}
	if (!entry) {
		entry = json_object();
		json_object_set_new(list, OFS_MCP_ENTRY, entry);
	}
	return set_entry(client, entry, argv);
}

static int remove_json(const struct ofs_mcp_client *client, struct ofs_settings_file *s,
		       struct ofs_error *err)
{
	json_t *list = json_object_get(s->json, client->list);
	json_t *entry = json_object_get(list, OFS_MCP_ENTRY);

	if (!entry)
		return 0;
	if (!entry_is_ours(client, entry))
		return refuse_other(err);
	json_object_del(list, OFS_MCP_ENTRY);
	if (!json_object_size(list))
		json_object_del(s->json, client->list);
	return 1;
}

/* Adds the entry to the text, or removes it if `argv` is NULL. */
static int edit_json(const struct ofs_mcp_client *client, const struct ofs_buf *text,
		     const char *const argv[], struct ofs_error *err, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *edited = NULL;
	int r;

	ofs_buf_append(&s.text, text->data, text->len);
	r = ofs_settings_file_parse((const char *)text->data, text->len, err, &s);
	if (r == 0)
		r = argv ? add_json(client, &s, argv, err) : remove_json(client, &s, err);
	if (r < 0 || (!argv && r && !json_object_size(s.json)))
		return r;
	edited = ofs_settings_file_format(&s);
	ofs_buf_append_str(out, edited);
	return r;
}

/* ---- TOML */

/* A TOML basic string has the escapes of JSON except for "\/", which is never written. */
static void append_string(const char *word, struct ofs_buf *out)
{
	ofs_json_append_string(word, out);
}

static char *string_of(const char *word)
{
	struct ofs_buf out = OFS_BUF_INIT;

	append_string(word, &out);
	return ofs_buf_steal_str(&out);
}

static char *array_of(const char *const words[])
{
	struct ofs_buf out = OFS_BUF_INIT;

	ofs_buf_append_str(&out, "[");
	for (; *words; words++) {
		append_string(*words, &out);
		if (words[1])
			ofs_buf_append_str(&out, ", ");
	}
	ofs_buf_append_str(&out, "]");
	return ofs_buf_steal_str(&out);
}

/* Returns the first string of a TOML value (a string or array), allocated, or NULL if none. */
static char *first_string(const char *value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char quote;

	while (value && *value && strchr("[ \t\r\n", *value))
		value++;
	if (!value || (*value != '"' && *value != '\''))
		return NULL;
	for (quote = *value++; *value && *value != quote; value++) {
		if (quote == '"' && *value == '\\' && value[1])
			value++;
		ofs_buf_append(&text, value, 1);
	}
	return *value ? ofs_buf_steal_str(&text) : NULL;
}

/* Returns 1 if the table is ours, 0 if there is none, -EEXIST or -EINVAL. */
static int look_for_table(const char *name, const struct ofs_buf *text, struct ofs_error *err)
{
	static const char *const keys[] = { "command", "args", "url" };
	OFS_FREE char *command = NULL, *args = NULL, *url = NULL, *program = NULL, *first = NULL;
	char **const values[] = { &command, &args, &url };
	const char *p = text->data ? (const char *)text->data : "";

	for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++)
		if (ofs_toml_table_get(p, text->len, name, keys[i], err, values[i]) < 0)
			return -EINVAL;
	if (!command && !args && !url)
		return 0;
	program = first_string(command);
	first = first_string(args);
	return !url && is_ours(program, first) ? 1 : refuse_other(err);
}

static int edit_toml(const struct ofs_mcp_client *client, const struct ofs_buf *text,
		     const char *const argv[], struct ofs_error *err, struct ofs_buf *out)
{
	OFS_FREE char *name = ofs_format("%s." OFS_MCP_ENTRY, client->list);
	OFS_FREE char *command = argv ? string_of(argv[0]) : NULL;
	OFS_FREE char *args = argv ? array_of(argv + 1) : NULL;
	const struct ofs_toml_pair pairs[] = { { "command", command }, { "args", args } };
	const char *p = text->data ? (const char *)text->data : "";
	int r = look_for_table(name, text, err);

	if (r < 0)
		return r;
	if (argv)
		return ofs_toml_table_set(p, text->len, name, pairs, OFS_ARRAY_SIZE(pairs), err,
					  out);
	return ofs_toml_table_remove(p, text->len, name, err, out);
}

/* ---- both formats */

int ofs_mcp_entry_add(const struct ofs_mcp_client *client, const struct ofs_buf *text,
		      const char *const argv[], struct ofs_error *err, struct ofs_buf *out)
{
	return (client->toml ? edit_toml : edit_json)(client, text, argv, err, out);
}

int ofs_mcp_entry_remove(const struct ofs_mcp_client *client, const struct ofs_buf *text,
			 struct ofs_error *err, struct ofs_buf *out)
{
	return (client->toml ? edit_toml : edit_json)(client, text, NULL, err, out);
}
