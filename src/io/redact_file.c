/* SPDX-License-Identifier: MIT */
#include "io/redact_file.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/util.h"
#include "io/file.h"
#include "io/toml.h"
#include "io/trust.h"

#define FILE_NAME "redact.toml"
#define FILE_MAX ((size_t)4 << 20)

struct rule {
	struct ofs_redact_custom custom;
	char *id, *regex;
	unsigned int line;
};

/* An allowlist, which is added to its rule, or to all rules, once it is complete. */
struct allowlist {
	enum {
		OF_NONE,
		OF_RULE, /* the last one */
		OF_ALL,
	} of;
	bool all_conditions; /* including those on files or commits: it cannot be applied */
	bool narrow; /* its regexes are matched against more than the secret */
	struct ofs_redact_words regexes, stopwords;
};

struct load {
	struct rule *rules;
	size_t n, cap;
	struct allowlist list; /* being read */
	struct ofs_redact_words allowed, stopwords; /* of all rules */
};

static void move_words(struct ofs_redact_words *from, struct ofs_redact_words *to)
{
	for (size_t i = 0; i < from->n; i++)
		ofs_redact_words_add(to, from->at[i]);
	ofs_redact_words_finish(from);
}

/* Adds a complete allowlist to the last rule, or to those of all. */
static void close_allowlist(struct load *l)
{
	struct allowlist *a = &l->list;
	struct rule *last = l->n ? &l->rules[l->n - 1] : NULL;

	if (!a->all_conditions && (a->of == OF_ALL || (a->of == OF_RULE && last))) {
		if (!a->narrow)
			move_words(&a->regexes,
				   a->of == OF_ALL ? &l->allowed : &last->custom.allowed);
		move_words(&a->stopwords,
			   a->of == OF_ALL ? &l->stopwords : &last->custom.stopwords);
	}
	ofs_redact_words_finish(&a->regexes);
	ofs_redact_words_finish(&a->stopwords);
	*a = (struct allowlist){ .of = OF_NONE };
}

static void take_words(const struct ofs_toml_entry *e, struct ofs_redact_words *to)
{
	for (size_t i = 0; i < e->n; i++)
		ofs_redact_words_add(to, e->values[i]);
}

static void take_allowed(struct allowlist *a, const struct ofs_toml_entry *e)
{
	const char *value = e->n ? e->values[0] : "";

	if (strcmp(e->key, "regexes") == 0)
		take_words(e, &a->regexes);
	else if (strcmp(e->key, "stopwords") == 0)
		take_words(e, &a->stopwords);
	else if (strcmp(e->key, "regexTarget") == 0)
		a->narrow = strcmp(value, "secret") != 0;
	else if (strcmp(e->key, "condition") == 0)
		a->all_conditions = strcasecmp(value, "and") == 0;
}

static int wrong(const struct ofs_toml_entry *e, const char *what, struct ofs_error *err)
{
	return ofs_error_set(err, EINVAL, "line %u: %s: %s", e->line, e->key, what);
}

static int take_number(const struct ofs_toml_entry *e, double *ret, struct ofs_error *err)
{
	char *end = NULL;

	*ret = e->n == 1 ? strtod(e->values[0], &end) : 0;
	return end && !*end && *ret >= 0 ? 0 : wrong(e, "must be a number", err);
}

static int take_rule(struct rule *r, const struct ofs_toml_entry *e, struct ofs_error *err)
{
	bool is_id = strcmp(e->key, "id") == 0, is_regex = strcmp(e->key, "regex") == 0;
	double number;
	int code = 0;

	if (is_id || is_regex) {
		char **to = is_id ? &r->id : &r->regex;

		if (e->n != 1 || !*e->values[0])
			return wrong(e, "must be a string", err);
		free(*to);
		*to = ofs_strdup(e->values[0]);
	} else if (strcmp(e->key, "keywords") == 0) {
		take_words(e, &r->custom.keywords);
	} else if (strcmp(e->key, "entropy") == 0) {
		code = take_number(e, &r->custom.entropy, err);
	} else if (strcmp(e->key, "secretGroup") == 0) {
		code = take_number(e, &number, err);
		r->custom.group = code == 0 && number < 100 ? (unsigned int)number : 0;
	}
	return code;
}

static int take(void *arg, const struct ofs_toml_entry *e, struct ofs_error *err)
{
	static const char *const of_one[] = { "rules.allowlist", "rules.allowlists" };
	static const char *const of_all[] = { "allowlist", "allowlists" };
	struct load *l = arg;

	if (e->key && l->list.of)
		take_allowed(&l->list, e);
	if (!e->key)
		close_allowlist(l);
	for (size_t i = 0; !e->key && i < OFS_ARRAY_SIZE(of_all); i++) {
		if (strcmp(e->table, of_one[i]) == 0)
			l->list.of = OF_RULE;
		if (strcmp(e->table, of_all[i]) == 0)
			l->list.of = OF_ALL;
	}
	if (strcmp(e->table, "rules") != 0)
		return 0;
	if (e->key)
		return l->n ? take_rule(&l->rules[l->n - 1], e, err) : 0;
	*ofs_append(l->rules, l->n, l->cap) = (struct rule){ .line = e->line };
	return 0;
}

/* Skips gitleaks' rules without a regex: they are about files, not text. */
static int add_rules(struct load *l, struct ofs_error *err)
{
	int r = 0;

	close_allowlist(l);
	for (size_t i = 0; i < l->n && r == 0; i++) {
		struct rule *rule = &l->rules[i];

		if (!rule->id)
			return ofs_error_set(err, EINVAL, "line %u: the rule has no id",
					     rule->line);
		if (!rule->regex)
			continue;
		rule->custom.id = rule->id;
		rule->custom.regex = rule->regex;
		for (size_t k = 0; k < l->allowed.n; k++)
			ofs_redact_words_add(&rule->custom.allowed, l->allowed.at[k]);
		for (size_t k = 0; k < l->stopwords.n; k++)
			ofs_redact_words_add(&rule->custom.stopwords, l->stopwords.at[k]);
		r = ofs_redact_add_rule(&rule->custom, err);
	}
	return r;
}

static void load_finish(struct load *l)
{
	close_allowlist(l);
	for (size_t i = 0; i < l->n; i++) {
		free(l->rules[i].id);
		free(l->rules[i].regex);
		ofs_redact_words_finish(&l->rules[i].custom.keywords);
		ofs_redact_words_finish(&l->rules[i].custom.stopwords);
		ofs_redact_words_finish(&l->rules[i].custom.allowed);
	}
	ofs_redact_words_finish(&l->allowed);
	ofs_redact_words_finish(&l->stopwords);
	free(l->rules);
}

int ofs_redact_file_load(struct ofs_error *err)
{
	OFS_FREE char *path = ofs_trust_user_file(FILE_NAME);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_CLEANUP(load_finish) struct load l = { .rules = NULL };
	struct ofs_error why = { "" };
	int r = path ? ofs_trust_check_file(path, err) : 0;

	if (r <= 0)
		return r;
	r = ofs_io_read_file(AT_FDCWD, path, FILE_MAX, &text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r));
	r = ofs_toml_read((const char *)text.data, text.len, take, &l, &why);
	if (r == 0)
		r = add_rules(&l, &why);
	return r < 0 ? ofs_error_set(err, -r, "'%s': %s", path, why.text) : 0;
}
