/* SPDX-License-Identifier: MIT */
#include "client/trail.h"

#include <inttypes.h>
#include <stdio.h>

#include "io/trust.h"
#include "tree/core/audit_disk.h"

_Static_assert(OFS_TRAIL_PAGE == OFS_AUDIT_PAGE_MAX, "a page of the log");

void ofs_trail_close(struct ofs_trail *t)
{
	ofs_access_finish(&t->access);
	ofs_cleanup_close(&t->store);
	*t = (struct ofs_trail)OFS_TRAIL_INIT;
}

static int mounted_bounds(struct ofs_trail *t, struct ofs_error *err)
{
	OFS_FREE char *text = NULL;
	int r = ofs_backend_attribute(t->access.backend, "", "log", &text);

	if (r == 0 && sscanf(text, "%" SCNu64 " %" SCNu64, &t->start, &t->end) != 2)
		r = -EPROTO;
	if (r == -ENODATA || r == -EPROTO)
		return ofs_error_set(err, -r,
				     "the daemon of '%s' shows you no log: it is an older "
				     "version, or another user's",
				     t->access.target.mountpoint);
	return r < 0 ? ofs_error_set(err, -r, "cannot read the log: %s", ofs_backend_strerror(-r))
		     : 0;
}

/* Finds the agent's directory. Closes the store again, unless it has been mounted meanwhile. */
static int find_agent(struct ofs_trail *t, uint64_t *ret, struct ofs_error *err)
{
	struct stat st;
	int r;

	t->access.read_only = true;
	r = ofs_access_open(&t->access, false, err);
	if (r < 0 || t->access.target.mounted)
		return r;
	r = t->access.backend->ops->lstat(t->access.backend, "", &st);
	ofs_backend_close(t->access.backend);
	t->access.backend = NULL;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the log: %s", strerror(-r));
	*ret = st.st_ino;
	return 0;
}

int ofs_trail_refresh(struct ofs_trail *t, uint64_t agent_dir, struct ofs_error *err)
{
	int r;

	if (t->store < 0)
		return mounted_bounds(t, err);
	r = ofs_audit_disk_bounds(t->store, agent_dir, &t->start, &t->end);
	return r < 0 ? ofs_error_set(err, -r, "cannot read the log: %s", strerror(-r)) : 0;
}

int ofs_trail_open(struct ofs_trail *t, const struct ofs_target_options *options,
		   uint64_t *agent_dir, struct ofs_error *err)
{
	int r;

	*t = (struct ofs_trail)OFS_TRAIL_INIT;
	ofs_access_init(&t->access, options);
	r = ofs_access_find(&t->access, err);
	if (r == 0 && !t->access.target.mounted && t->access.target.agent && !*agent_dir)
		r = find_agent(t, agent_dir, err);
	if (r == 0 && t->access.target.mounted) {
		r = ofs_access_open(&t->access, false, err);
		return r < 0 ? r : ofs_trail_refresh(t, *agent_dir, err);
	}
	if (r < 0)
		return r;
	t->store = ofs_trust_open_store(t->access.target.store, err);
	return t->store < 0 ? t->store : ofs_trail_refresh(t, *agent_dir, err);
}

int ofs_trail_read(struct ofs_trail *t, uint64_t agent_dir, uint64_t from, uint64_t to, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *name = NULL;
	int r;

	if (t->access.backend) {
		name = ofs_format(".offload/log.%" PRIu64 "-%" PRIu64, from, to);
		return ofs_backend_read_text(t->access.backend, name, ret);
	}
	r = ofs_audit_disk_read(t->store, agent_dir, from, to, &text);
	if (r == 0)
		*ret = ofs_buf_steal_str(&text);
	return r;
}
