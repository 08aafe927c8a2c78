/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/complete.h"
#include "client/daemon_options.h"
#include "tree/config.h"

/* Offers values of a key. */
static void offer_key_values(const struct ofs_candidates *c, const struct ofs_ini_key *key)
{
	if (key->type == OFS_INI_WORD)
		ofs_candidates_offer_words(c, key->words);
	if (key->type != OFS_INI_NUMBER)
		return;
	ofs_candidates_offer(c, ofs_quantity_show(&key->number, key->preset).text, "the default");
	if (key->number.zero && key->preset)
		ofs_candidates_offer(c, key->number.zero, NULL);
}

/* Completes the last of the options that follow one -o, separated by commas. */
static void offer_mount_options(struct ofs_candidates *c)
{
	const char *typed = ofs_candidates_typed(c), *comma = strrchr(typed, ',');
	const struct ofs_ini_key *key;
	const char *value;

	c->before += comma ? (size_t)(comma + 1 - typed) : 0;
	typed = ofs_candidates_typed(c);
	value = strchr(typed, '=');
	for (size_t i = 0; (key = ofs_config_key(i)); i++) {
		OFS_FREE char *name = ofs_format("%s=", key->name);

		if (value && strncmp(typed, name, strlen(name)) == 0) {
			c->before += strlen(name);
			offer_key_values(c, key);
			return;
		}
		ofs_candidates_offer(c, name, key->text);
	}
	for (const struct ofs_daemon_option *o = ofs_daemon_words; o->name; o++) {
		OFS_FREE char *name = ofs_format("%s%s", o->name, o->value ? "=" : "");

		ofs_candidates_offer(c, name, o->text);
	}
}

void ofs_complete_daemon(struct ofs_candidates *c, size_t at)
{
	const struct ofs_shell_line *l = c->line;
	const char *last = l->words[l->n - 1];

	if (l->n - 1 > at + 1 && strcmp(l->words[l->n - 2], "-o") == 0) {
		offer_mount_options(c);
	} else if (strncmp(last, "-o", 2) == 0 && last[2]) {
		c->before = 2;
		offer_mount_options(c);
	} else if (last[0] == '-') {
		for (const struct ofs_daemon_option *o = ofs_daemon_flags; o->name; o++) {
			ofs_candidates_offer(c, o->name, o->text);
			if (o->other && strcmp(o->name, o->other) != 0)
				ofs_candidates_offer(c, o->other, o->text);
		}
	} else {
		snprintf(c->rest, sizeof(c->rest), "dirs");
	}
}
