/* SPDX-License-Identifier: MIT */
#include "cli/peers.h"

#include "base/buf.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/report.h"
#include "io/mounts.h"
#include "io/path.h"
#include "remote/location.h"
#include "tree/config.h"
#include "tree/core/category.h"

#define FOLDER "peers"

struct peer {
	char *name, *url;
};

struct peers {
	struct peer *at;
	size_t n, cap;
};

static void peers_finish(struct peers *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->at[i].name);
		free(p->at[i].url);
	}
	free(p->at);
}

static int peers_load(const char *store, struct peers *ret, struct ofs_error *err)
{
	struct ofs_config *config = ofs_config_create();
	int r = ofs_config_load_store(config, store, err);
	OFS_FREE char *text = ofs_strdup(r < 0 ? "" : ofs_config_get_text(config, "peers"));
	char *rest = NULL;

	ofs_config_destroy(config);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		size_t len = strcspn(word, "=");

		if (word[len])
			*ofs_append(ret->at, ret->n, ret->cap) =
				(struct peer){ ofs_strndup(word, len), ofs_strdup(word + len + 1) };
	}
	return r;
}

static int peers_save(const char *store, const struct peers *p, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (size_t i = 0; i < p->n; i++)
		ofs_buf_printf(&text, "%s%s=%s", i ? " " : "", p->at[i].name, p->at[i].url);
	return ofs_config_store_set(store, "peers", p->n ? ofs_buf_str(&text) : NULL, err);
}

static int check(const char *peer, const char *name, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_location_finish) struct ofs_location location = { 0 };

	if (!strchr(peer, '=') || !ofs_category_is_name(name) || strchr(peer, ' '))
		return ofs_error_set(err, EINVAL,
				     "'%s' is not NAME=URL, without spaces, where NAME can be a "
				     "directory in " FOLDER "/",
				     peer);
	return peer[strlen(name) + 1] ? ofs_location_parse(peer + strlen(name) + 1, err, &location)
				      : 0;
}

int ofs_peers_change(const char *store, const char *peer, struct ofs_error *err)
{
	OFS_FREE char *name = ofs_strndup(peer, strcspn(peer, "="));
	OFS_CLEANUP(peers_finish) struct peers p = { 0 };
	int r = check(peer, name, err);
	size_t i = 0;

	if (r == 0)
		r = peers_load(store, &p, err);
	if (r < 0)
		return r;
	while (i < p.n && strcmp(p.at[i].name, name) != 0)
		i++;
	if (i == p.n)
		*ofs_append(p.at, p.n, p.cap) = (struct peer){ ofs_strdup(name), NULL };
	free(p.at[i].url);
	p.at[i].url = ofs_strdup(peer + strlen(name) + 1);
	if (!*p.at[i].url) {
		struct peer gone = p.at[i];

		p.at[i] = p.at[--p.n];
		free(gone.name);
		free(gone.url);
	}
	return peers_save(store, &p, err);
}

/* ---- mounting */

static int peer_up(const struct ofs_target *t, const struct peer *p,
		   const struct ofs_mounts *mounts)
{
	OFS_FREE char *point = ofs_format("%s/" FOLDER "/%s", t->mountpoint, p->name);
	OFS_FREE char *shown = ofs_path_display(point);
	const struct ofs_mount *there = ofs_mounts_at(mounts, point);
	struct ofs_error err;
	int r = 0;

	if (there && ofs_mount_is_alive(there))
		return OFS_EXIT_OK;
	if (!there)
		r = ofs_path_make(point, 0700);
	if (r < 0)
		return ofs_report("cannot make '%s': %s", shown, strerror(-r));
	if (ofs_daemon_follow(p->url, point, &err) < 0)
		return *err.text ? ofs_report("%s", err.text) : OFS_EXIT_FAILURE;
	ofs_report_line(stdout, "Mounted %s (follows %s)", shown, p->url);
	return OFS_EXIT_OK;
}

int ofs_peers_up(const struct ofs_target *target)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_CLEANUP(peers_finish) struct peers p = { 0 };
	struct ofs_error err;
	int code = OFS_EXIT_OK, r;

	if (peers_load(target->store, &p, &err) < 0)
		return ofs_report("%s", err.text);
	r = ofs_mounts_read(NULL, &mounts);
	if (r < 0)
		return ofs_report("cannot read the list of mounts: %s", strerror(-r));
	for (size_t i = 0; i < p.n; i++) {
		int one = peer_up(target, &p.at[i], &mounts);

		code = code == OFS_EXIT_OK ? one : code;
	}
	return code;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **ofs_peers_mounted(const char *mountpoint)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_FREE char *folder = ofs_path_join(mountpoint, FOLDER);
	char **list = NULL;
	size_t n = 0, cap = 0;

	if (ofs_mounts_read(NULL, &mounts) == 0)
		for (size_t i = 0; i < mounts.count; i++)
			if (ofs_path_below(folder, mounts.list[i].point))
				*ofs_append(list, n, cap) = ofs_strdup(mounts.list[i].point);
	if (n)
		qsort(list, n, sizeof(*list), compare);
	*ofs_append(list, n, cap) = NULL;
	return list;
}

void ofs_peers_free(char **list)
{
	for (char **p = list; *p; p++)
		free(*p);
	free(list);
}

static int peer_down(const char *point, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *m;
	int r = ofs_mounts_read(NULL, &mounts);

	m = r < 0 ? NULL : ofs_mounts_at(&mounts, point);
	return m ? ofs_daemon_end(m->source, point, err) : 0;
}

int ofs_peers_down(const char *mountpoint, struct ofs_error *err)
{
	char **list = ofs_peers_mounted(mountpoint);
	int r = 0;

	for (char **p = list; *p && r >= 0; p++)
		r = peer_down(*p, err);
	ofs_peers_free(list);
	return OFS_MIN(r, 0);
}
