/* SPDX-License-Identifier: MIT */
#include "cli/tables.h"

#include "base/text_form.h"
#include "client/daemon_options.h"
#include "context/settings.h"
#include "tree/config.h"

static json_t *words_of(const char *const *words)
{
	json_t *list = words ? json_array() : json_null();

	for (; words && *words; words++)
		json_array_append_new(list, ofs_json_string(*words));
	return list;
}

json_t *ofs_tables_command(const struct ofs_command *command)
{
	const struct ofs_option *options[OFS_OPTIONS_MAX];
	size_t n = ofs_command_options(command, options);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct ofs_option *o = options[i];
		char letter[] = { o->letter, '\0' };

		json_array_append_new(list,
				      json_pack("{s:o, s:s, s:o, s:s, s:o}", "letter",
						ofs_json_string(o->letter ? letter : NULL), "name",
						o->name, "value", ofs_json_string(o->value), "text",
						ofs_command_option_text(command, o), "words",
						words_of(o->words)));
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", command->name, "synopsis",
			 command->synopsis, "summary", command->summary, "help",
			 ofs_json_string(command->help), "notes", ofs_json_string(command->notes),
			 "options", list);
}

static json_t *daemon_options(const struct ofs_daemon_option *o)
{
	json_t *list = json_array();

	for (; o->name; o++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:s}", "name", o->name,
						      "other", ofs_json_string(o->other), "value",
						      ofs_json_string(o->value), "text", o->text));
	return list;
}

/* Returns the default of a number, or the first of the words. */
static json_t *default_of(const struct ofs_ini_key *key, bool in_named_section)
{
	if (key->type == OFS_INI_WORD)
		return ofs_json_string(key->words[key->preset]);
	if (key->type == OFS_INI_TEXT || in_named_section)
		return json_null();
	return ofs_json_string(ofs_quantity_show(&key->number, key->preset).text);
}

static json_t *keys_of(const struct ofs_ini_table *table)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < table->n_keys; i++) {
		const struct ofs_ini_key *key = &table->keys[i];
		bool number = key->type == OFS_INI_NUMBER;

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "section",
				  table->sections[key->section].name, "name", key->name, "value",
				  ofs_ini_placeholder(key), "text", key->text, "words",
				  words_of(key->words), "default",
				  default_of(key, table->sections[key->section].check != NULL),
				  "zero", ofs_json_string(number ? key->number.zero : NULL)));
	}
	return list;
}

json_t *ofs_tables_all(const struct ofs_command *const *commands, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (!commands[i]->hidden)
			json_array_append_new(list, ofs_tables_command(commands[i]));
	return json_pack("{s:o, s:{s:o, s:o}, s:o, s:o}", "commands", list, "daemon", "flags",
			 daemon_options(ofs_daemon_flags), "words",
			 daemon_options(ofs_daemon_words), "config", keys_of(&ofs_config_table),
			 "context", keys_of(&ofs_settings_table));
}
