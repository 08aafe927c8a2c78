/* SPDX-License-Identifier: MIT */
/*
 * Checks the rules of the index (rules.c) and repairs findings on request. Once a b-tree is known
 * to be damaged, rows may only seem to be missing, and nothing is repaired any more.
 */
#include <stdio.h>

#include "index/index_state.h"
#include "index/rules.h"

#define FINDINGS_MAX 1000 /* per rule; further ones are only counted */

struct finding {
	uint64_t ino;
	char *text;
};

struct findings {
	struct finding list[FINDINGS_MAX];
	size_t n;
	uint64_t more;
};

struct checking {
	struct ofs_index *ix, *again; /* see open_again() */
	bool repair;
	bool damaged; /* rows may only seem to be missing */
	uint64_t lost_dir;
	struct findings found; /* of the current check */
};

static void findings_clear(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->list[i].text);
	f->n = 0;
	f->more = 0;
}

static void checking_destroy(struct checking **k)
{
	if (*k) {
		findings_clear(&(*k)->found);
		ofs_index_close((*k)->again);
	}
	free(*k);
}

/* Takes over `text`. Names may hold any bytes, so those that would break the line are replaced. */
static void findings_add(struct findings *f, uint64_t ino, char *text)
{
	if (f->n == FINDINGS_MAX) {
		f->more++;
		free(text);
		return;
	}
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	f->list[f->n++] = (struct finding){ ino, text };
}

/* SQLite reports on a b-tree in one text, under a heading. */
static void findings_add_lines(struct findings *f, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len && strncmp(text, "***", 3) != 0)
			findings_add(f, 0, ofs_strndup(text, len));
		text += len + (text[len] == '\n');
	}
}

static int findings_take(struct findings *f, const struct ofs_rule *c, sqlite3_stmt *st)
{
	const char *text = (const char *)sqlite3_column_text(st, 1);

	if (!text)
		return -ENOMEM;
	if (c->tree)
		findings_add_lines(f, text);
	else
		findings_add(f, ofs_column_u64(st, 0), ofs_strdup(text));
	return 0;
}

/* Prepares the first statement of `sql`. *ret_rest is the text after it. Under the lock. */
static int prepare(struct checking *k, const char *sql, const char **ret_rest, sqlite3_stmt **ret)
{
	int rc = sqlite3_prepare_v2(k->ix->db.conn, sql, -1, ret, ret_rest);

	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(*ret) > 0)
		rc = sqlite3_bind_int64(*ret, 1, (int64_t)k->lost_dir);
	return ofs_db_errno(&k->ix->db, rc);
}

static void finalize(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}

/* Under the lock. */
static int check_find(struct checking *k, const struct ofs_rule *c)
{
	OFS_CLEANUP(finalize) sqlite3_stmt *st = NULL;
	int r = prepare(k, c->find, NULL, &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&k->ix->db, st)) > 0) {
		r = findings_take(&k->found, c, st);
		if (r < 0)
			return r;
	}
	return r;
}

/* Sets *ret to true if the rule finds nothing (any more). Under the lock. */
static int check_is_clean(struct checking *k, const struct ofs_rule *c, bool *ret)
{
	OFS_CLEANUP(finalize) sqlite3_stmt *st = NULL;
	int r = prepare(k, c->find, NULL, &st);

	if (r == 0)
		r = ofs_db_step(&k->ix->db, st);
	*ret = r == 0;
	return r < 0 ? r : 0;
}

/* Under the lock. */
static int check_repair(struct checking *k, const struct ofs_rule *c, bool *ret_repaired)
{
	const char *sql = c->repair;
	int r = 0;

	while (r == 0 && *sql) {
		OFS_CLEANUP(finalize) sqlite3_stmt *st = NULL;

		r = prepare(k, sql, &sql, &st);
		if (r == 0)
			r = ofs_db_step(&k->ix->db, st);
	}
	/* An index of the table cannot be rebuilt, because the table itself is damaged. */
	if (c->tree && r == -EEXIST)
		r = -EUCLEAN;
	return r < 0 ? r : check_is_clean(k, c, ret_repaired);
}

/* Damage that ends a check early is a finding. Other failures are returned. */
static int check_broke(struct checking *k, const struct ofs_rule *c, int failure)
{
	k->damaged = true;
	if (failure != -EUCLEAN)
		return failure;
	findings_add(&k->found, 0,
		     ofs_format("the index is damaged: the check of %s did not finish: %s", c->of,
				sqlite3_errmsg(k->ix->db.conn)));
	return 0;
}

static int check_one(struct checking *k, const struct ofs_rule *c, bool *ret_repaired)
{
	OFS_DB_LOCKED(&k->ix->db);
	int r = check_find(k, c);

	*ret_repaired = false;
	if (r == 0 && k->found.n && k->repair && !k->damaged && c->repair &&
	    (!c->lost || k->lost_dir))
		r = check_repair(k, c, ret_repaired);
	if (r < 0)
		r = check_broke(k, c, r);
	if (c->tree && k->found.n && !*ret_repaired)
		k->damaged = true;
	if (k->repair && (r < 0 || k->damaged))
		ofs_db_written(&k->ix->db, r < 0 ? r : -EUCLEAN);
	return r;
}

static void tell(const struct findings *f, bool repaired,
		 void (*problem)(void *arg, uint64_t ino, const char *what, bool repaired),
		 void *arg)
{
	char more[64];

	for (size_t i = 0; i < f->n; i++)
		problem(arg, f->list[i].ino, f->list[i].text, repaired);
	if (!f->more)
		return;
	snprintf(more, sizeof(more), "and %llu more like these", (unsigned long long)f->more);
	problem(arg, 0, more, repaired);
}

static int check_begin(struct ofs_index *ix, bool repair)
{
	OFS_DB_LOCKED(&ix->db);

	return repair ? ofs_db_writable(&ix->db) : 0;
}

/*
 * Opens the file once more, since requests wait for the lock of `ix`. NULL: that is not possible,
 * as for a file that has no name any more.
 */
static struct ofs_index *open_again(struct ofs_index *ix)
{
	struct ofs_index *again = NULL;
	OFS_DB_LOCKED(&ix->db);

	if (ix->db.fixed || ofs_db_checkpoint(&ix->db) == 0)
		ofs_index_open_fixed(ix->db.path, NULL, &again);
	return again;
}

int ofs_index_check(struct ofs_index *ix, bool repair, uint64_t lost_dir,
		    void (*problem)(void *arg, uint64_t ino, const char *what, bool repaired),
		    void *arg)
{
	OFS_CLEANUP(checking_destroy) struct checking *k = ofs_alloc(sizeof(*k));
	bool repaired;
	int r = check_begin(ix, repair);

	if (r < 0)
		return r;
	k->again = repair ? NULL : open_again(ix);
	k->ix = k->again ? k->again : ix;
	k->repair = repair;
	k->lost_dir = lost_dir;
	for (size_t i = 0; i < ofs_rules_count; i++) {
		r = check_one(k, &ofs_rules[i], &repaired);
		tell(&k->found, repaired, problem, arg);
		findings_clear(&k->found);
		if (r < 0)
			return r;
	}
	return k->damaged ? -EUCLEAN : 0;
}
