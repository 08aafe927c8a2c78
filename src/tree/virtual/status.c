/* SPDX-License-Identifier: MIT */
/* .offload/status.json and .offload/metrics: the state of the store. */
#include "tree/virtual/nodes.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/text.h"
#include "tree/core/place.h"
#include "tree/core/replicate.h"
#include "tree/expiry/gc.h"
#include "tree/search/indexer.h"
#include "tree/search/meaning.h"

#define SLICES_MAX 16 /* slices in a report */

static const char *const call_names[OFS_TREE_OPS] = {
	[OFS_TREE_LOOKUP] = "lookup",	[OFS_TREE_GETATTR] = "getattr",
	[OFS_TREE_READDIR] = "readdir", [OFS_TREE_READ] = "read",
	[OFS_TREE_WRITE] = "write",	[OFS_TREE_CHANGE] = "change",
	[OFS_TREE_SYNC] = "sync",
};

struct numbers {
	struct ofs_store_stats store; /* for an agent's tree only the counts of its content */
	struct ofs_indexer_stats search;
	struct ofs_meaning_stats meaning;
	struct ofs_ledger_entry ledger;
	struct statvfs disk;
	uint64_t made; /* virtual nodes in made.c's table */
	uint64_t calls[OFS_TREE_OPS];
	uint64_t read, written;
	int64_t uptime; /* milliseconds */
	int64_t rss; /* bytes; -1: unknown */
};

/* Resident memory of this process in bytes; -1: unknown. */
static int64_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long long pages = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%*s %lld", &pages) != 1)
		pages = -1;
	fclose(f);
	return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/* Collects the numbers of an agent's tree, leaving out those that others contribute to. */
static int collect_agent(struct ofs_tree *t, struct ofs_root *root, struct numbers *ret)
{
	struct ofs_region_counts c;
	int r = ofs_store_count_region(t->store, root->ino, &c);

	if (r < 0)
		return r;
	ret->store = (struct ofs_store_stats){
		.files = c.files, .dirs = c.dirs, .others = c.others, .bytes = c.bytes
	};
	return ofs_ledger_file_sum(t, root, &ret->ledger);
}

static int collect(struct ofs_tree *t, struct numbers *ret)
{
	int r = ofs_store_stats(t->store, &ret->store);

	if (r == 0)
		r = ofs_store_statfs(t->store, &ret->disk);
	if (r == 0)
		r = ofs_ledger_file_sum(t, t->root, &ret->ledger);
	if (r < 0)
		return r;
	ofs_indexer_stats(t->indexer, &ret->search);
	ofs_meaning_stats(t->meaning, &ret->meaning);
	ret->made = ofs_made_count(t);
	for (int i = 0; i < OFS_TREE_OPS; i++)
		ret->calls[i] = atomic_load_explicit(&t->ops[i], memory_order_relaxed);
	ret->read = atomic_load_explicit(&t->bytes_read, memory_order_relaxed);
	ret->written = atomic_load_explicit(&t->bytes_written, memory_order_relaxed);
	ret->uptime = (ofs_clock_monotonic() - t->opened) / OFS_NS_PER_MS;
	ret->rss = resident();
	return 0;
}

static uint64_t disk_free(const struct numbers *n)
{
	return (uint64_t)n->disk.f_bavail * n->disk.f_frsize;
}

static json_t *calls_json(const struct numbers *n)
{
	json_t *calls = json_object();

	for (int i = 0; i < OFS_TREE_OPS; i++)
		json_object_set_new(calls, call_names[i], json_integer((json_int_t)n->calls[i]));
	return calls;
}

static json_t *search_json(const struct ofs_indexer_stats *s, const struct ofs_meaning_stats *m)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:b}", "files", (json_int_t)s->files,
				 "documents", (json_int_t)(s->documents - s->dead), "waiting",
				 (json_int_t)s->waiting, "bytes", (json_int_t)s->bytes, "caught_up",
				 s->caught_up);

	if (m->model[0])
		json_object_set_new(json, "meaning",
				    json_pack("{s:s, s:I, s:b, s:s}", "model", m->model, "vectors",
					      (json_int_t)m->vectors, "caught_up", m->caught_up,
					      "trouble", m->trouble));
	return json;
}

static json_t *tokens_json(const struct ofs_ledger_entry *sum)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "results", (json_int_t)sum->results, "offloaded",
			 (json_int_t)sum->offloaded, "pointers", (json_int_t)sum->pointers, "read",
			 (json_int_t)sum->read);
}

static json_t *content_json(const struct ofs_store_stats *s)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "files", (json_int_t)s->files, "directories",
			 (json_int_t)s->dirs, "others", (json_int_t)s->others, "bytes",
			 (json_int_t)s->bytes);
}

static json_t *journal_json(const struct ofs_store_stats *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)s->journal,
			 "segments", (json_int_t)s->segments, "waiting_bytes",
			 (json_int_t)s->waiting, "waiting_records", (json_int_t)s->waiting_records,
			 "waiting_max", (json_int_t)s->waiting_max, "unsynced_bytes",
			 (json_int_t)s->unsynced);
}

static json_t *sealed_json(const struct ofs_store_stats *s)
{
	return json_pack("{s:I, s:I}", "bytes", (json_int_t)s->sealed, "stored",
			 (json_int_t)s->sealed_stored);
}

static json_t *cache_json(const struct ofs_store_stats *s)
{
	return json_pack("{s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I}}", "frames", "hits",
			 (json_int_t)s->frames_kept, "ahead", (json_int_t)s->frames_ahead, "loads",
			 (json_int_t)s->frames_loaded, "bytes", (json_int_t)s->frame_bytes,
			 "inodes", "hits", (json_int_t)(s->inodes_asked - s->inodes_loaded),
			 "loads", (json_int_t)s->inodes_loaded);
}

/* A recently used slice; NULL if its file has no name any more. */
static json_t *slice_json(struct ofs_tree *t, const struct ofs_slice_use *use)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT, slice = OFS_BUF_INIT;
	OFS_FREE char *readable = NULL;

	if (ofs_place_of(t, use->base, &place) < 0 ||
	    ofs_root_path(t, place.root, t->root, &path) < 0)
		return NULL;
	ofs_buf_append_str(&path, (const char *)place.path.data);
	readable = ofs_text_readable(ofs_buf_str(&path));
	ofs_slice_print(&use->spec, &slice);
	return json_pack("{s:o, s:s, s:s, s:I}", "time", ofs_json_time(use->asked), "path",
			 readable, "slice", ofs_buf_str(&slice), "bytes", (json_int_t)use->bytes);
}

static json_t *slices_json(struct ofs_tree *t)
{
	struct ofs_slice_use uses[SLICES_MAX];
	size_t n = ofs_made_list_slices(t, uses, SLICES_MAX);
	json_t *list = json_array(), *slice;

	for (size_t i = 0; i < n; i++) {
		slice = slice_json(t, &uses[i]);
		if (slice)
			json_array_append_new(list, slice);
	}
	return list;
}

static int format_agent_status(struct ofs_tree *t, void *root, struct ofs_buf *out)
{
	struct numbers n = { 0 };
	int r = collect_agent(t, root, &n);

	if (r < 0)
		return r;
	ofs_json_append(json_pack("{s:s, s:s, s:o, s:o}", "version", OFS_VERSION, "state", "ok",
				  "content", content_json(&n.store), "tokens",
				  tokens_json(&n.ledger)),
			JSON_INDENT(2), out);
	ofs_buf_append_str(out, "\n");
	return 0;
}

static int format_status(struct ofs_tree *t, void *arg, struct ofs_buf *out)
{
	OFS_FREE char *mountpoint = t->mountpoint ? ofs_text_readable(t->mountpoint) : NULL;
	const struct ofs_store_stats *s;
	struct numbers n = { 0 };
	json_t *json, *lifecycle;
	int r = collect(t, &n);

	if (r < 0)
		return r;
	s = &n.store;
	json = json_pack("{s:s, s:s?, s:I, s:s, s:s?, s:o, s:{s:I, s:I, s:I, s:I}, "
			 "s:{s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:I, s:I, s:s?}",
			 "version", OFS_VERSION, "mountpoint", mountpoint, "uptime_seconds",
			 (json_int_t)n.uptime / 1000, "state",
			 s->broken  ? "read-only"
			 : s->tight ? "disk full"
				    : "ok",
			 "error",
			 s->broken  ? s->broken
			 : s->error ? strerror(-s->error)
				    : NULL,
			 "content", content_json(s), "disk", "packs", (json_int_t)s->packs, "index",
			 (json_int_t)s->index, "journal", (json_int_t)s->journal, "free",
			 (json_int_t)disk_free(&n), "unsealed", "files", (json_int_t)s->draft_files,
			 "bytes", (json_int_t)s->draft_bytes, "memory", "resident",
			 (json_int_t)n.rss, "inodes", (json_int_t)s->cached, "references",
			 (json_int_t)s->held, "made_up", (json_int_t)n.made, "search",
			 search_json(&n.search, &n.meaning), "calls", calls_json(&n), "bytes_read",
			 (json_int_t)n.read, "bytes_written", (json_int_t)n.written, "warning",
			 s->journal_damaged ? "the journal was damaged; 'offload verify' says how"
					    : NULL);
	lifecycle = ofs_gc_stats(t->gc);
	json_object_set_new(lifecycle, "tombstones", json_integer((json_int_t)s->tombstones));
	json_object_set_new(json, "lifecycle", lifecycle);
	json_object_set_new(json, "uptime_ms", json_integer((json_int_t)n.uptime));
	json_object_set_new(json, "journal", journal_json(s));
	json_object_set_new(json, "sealed", sealed_json(s));
	json_object_set_new(json, "cache", cache_json(s));
	json_object_set_new(json, "slices", slices_json(t));
	json_object_set_new(json, "tokens", tokens_json(&n.ledger));
	if (t->replicate)
		json_object_set_new(json, "remote", ofs_replicate_status(t));
	ofs_json_append(json, JSON_INDENT(2), out);
	ofs_buf_append_str(out, "\n");
	return 0;
}

static void metric(struct ofs_buf *out, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	ofs_buf_printf(out,
		       "# HELP offloadfs_%s %s\n# TYPE offloadfs_%s %s\noffloadfs_%s %" PRIu64 "\n",
		       name, help, name, type, name, value);
}

static int format_agent_metrics(struct ofs_tree *t, void *root, struct ofs_buf *out)
{
	struct numbers n = { 0 };
	int r = collect_agent(t, root, &n);

	if (r < 0)
		return r;
	metric(out, "files", "gauge", "Regular files in the tree.", n.store.files);
	metric(out, "directories", "gauge", "Directories in the tree.", n.store.dirs);
	metric(out, "content_bytes", "gauge", "Logical size of all files.", n.store.bytes);
	metric(out, "tokens_offloaded_total", "counter", "Tokens kept out of prompts.",
	       n.ledger.offloaded);
	metric(out, "tokens_pointers_total", "counter", "Tokens of pointers in their place.",
	       n.ledger.pointers);
	metric(out, "tokens_read_total", "counter", "Tokens read back.", n.ledger.read);
	return 0;
}

static uint64_t number(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

static int format_metrics(struct ofs_tree *t, void *arg, struct ofs_buf *out)
{
	struct numbers n = { 0 };
	json_t *life = ofs_gc_stats(t->gc);
	int r = collect(t, &n);
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} all[] = {
		{ "files", "gauge", "Regular files in the store.", n.store.files },
		{ "directories", "gauge", "Directories in the store.", n.store.dirs },
		{ "content_bytes", "gauge", "Logical size of all files.", n.store.bytes },
		{ "pack_bytes", "gauge", "Sealed content on disk.", n.store.packs },
		{ "index_bytes", "gauge", "Index on disk.", n.store.index },
		{ "journal_bytes", "gauge", "Journal on disk.", n.store.journal },
		{ "search_bytes", "gauge", "Search index on disk.", n.search.bytes },
		{ "search_files", "gauge", "Files in the search index.", n.search.files },
		{ "search_waiting_files", "gauge", "Files still to be indexed for search.",
		  n.search.waiting },
		{ "working_files", "gauge", "Files in the working tier at the last collection.",
		  number(life, "working_files") },
		{ "working_stored_bytes", "gauge", "Size on disk of working files.",
		  number(life, "working_stored") },
		{ "evictable_files", "gauge", "Working files that can be removed for space.",
		  number(life, "evictable_files") },
		{ "evictable_stored_bytes", "gauge", "Size on disk of evictable files.",
		  number(life, "evictable_stored") },
		{ "working_keep_bytes", "gauge", "Size above which evictable files are removed.",
		  number(life, "working_keep") },
		{ "disk_free_bytes", "gauge", "Disk space left for the store.", disk_free(&n) },
		{ "unsealed_files", "gauge", "Files with content in the journal.",
		  n.store.draft_files },
		{ "unsealed_bytes", "gauge", "Content in the journal.", n.store.draft_bytes },
		{ "disk_full", "gauge", "1 while only changes that free space are written.",
		  n.store.tight },
		{ "read_only", "gauge", "1 after an error that only a restart can clear.",
		  n.store.broken != NULL },
		{ "journal_damaged", "gauge", "1 from damage to the journal until a repair.",
		  n.store.journal_damaged },
		{ "inodes_in_memory", "gauge", "Inodes in memory.", n.store.cached },
		{ "references", "gauge", "References to inodes that the kernel holds.",
		  n.store.held },
		{ "made_up_nodes", "gauge", "Slices, reports and views in use.", n.made },
		{ "resident_bytes", "gauge", "Resident memory of the daemon.",
		  n.rss < 0 ? 0 : (uint64_t)n.rss },
		{ "uptime_seconds", "gauge", "Time since the store was opened.",
		  (uint64_t)n.uptime / 1000 },
		{ "journal_segments", "gauge", "Files of the journal.", n.store.segments },
		{ "journal_waiting_bytes", "gauge", "Journal waiting to be sealed.",
		  n.store.waiting },
		{ "journal_waiting_max_bytes", "gauge", "Waiting journal above which writers wait.",
		  n.store.waiting_max },
		{ "journal_unsynced_bytes", "gauge", "Journal not yet synced to disk.",
		  n.store.unsynced },
		{ "sealed_bytes_total", "counter", "Content sealed.", n.store.sealed },
		{ "sealed_stored_bytes_total", "counter", "Size on disk of sealed content.",
		  n.store.sealed_stored },
		{ "frame_hits_total", "counter", "Frames found in memory.", n.store.frames_kept },
		{ "frame_ahead_total", "counter", "Frames found that had been read ahead.",
		  n.store.frames_ahead },
		{ "frame_loads_total", "counter", "Frames read from packs.",
		  n.store.frames_loaded },
		{ "frame_cache_bytes", "gauge", "Content of frames in memory.",
		  n.store.frame_bytes },
		{ "inode_hits_total", "counter", "Inodes found in memory.",
		  n.store.inodes_asked - n.store.inodes_loaded },
		{ "inode_loads_total", "counter", "Inodes read from the index.",
		  n.store.inodes_loaded },
		{ "tokens_offloaded_total", "counter", "Tokens kept out of prompts.",
		  n.ledger.offloaded },
		{ "tokens_pointers_total", "counter", "Tokens of pointers in their place.",
		  n.ledger.pointers },
		{ "tokens_read_total", "counter", "Tokens read back.", n.ledger.read },
		{ "read_bytes_total", "counter", "Bytes read by requests.", n.read },
		{ "written_bytes_total", "counter", "Bytes written by requests.", n.written },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all) && r == 0; i++)
		metric(out, all[i].name, all[i].type, all[i].help, all[i].value);
	json_decref(life);
	if (r == 0)
		ofs_buf_append_str(out, "# HELP offloadfs_calls_total Calls of the tree.\n"
					"# TYPE offloadfs_calls_total counter\n");
	for (int i = 0; i < OFS_TREE_OPS && r == 0; i++)
		ofs_buf_printf(out, "offloadfs_calls_total{call=\"%s\"} %" PRIu64 "\n",
			       call_names[i], n.calls[i]);
	return r;
}

int ofs_status_write_status(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	return ofs_made_keep(t, root, OFS_KEPT_STATUS, "status", 0,
			     root->above ? format_agent_status : format_status, root, out);
}

int ofs_status_write_metrics(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	return ofs_made_keep(t, root, OFS_KEPT_STATUS, "metrics", 0,
			     root->above ? format_agent_metrics : format_metrics, root, out);
}
