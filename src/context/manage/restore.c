/* SPDX-License-Identifier: MIT */
#include "context/manage/restore.h"

#include "base/map.h"
#include "codec/hash.h"
#include "context/manage/prefetch.h"
#include "context/manage/seam.h"

/* The state of restoring. */
struct restoring {
	struct ofs_shelf *shelf;
	struct ofs_error *err;
	struct ofs_restored *to;
	struct ofs_chat chat; /* reads to->list and to->system */
	struct ofs_map undone; /* checksums of the refs of snapshots undone */
};

void ofs_restored_finish(struct ofs_restored *r)
{
	ofs_buf_finish(&r->list);
	ofs_buf_finish(&r->system);
	*r = (struct ofs_restored){ 0 };
}

static struct ofs_span span_of(const struct ofs_buf *b)
{
	return (struct ofs_span){ (const char *)b->data, b->len };
}

static int read_chat(struct restoring *r)
{
	ofs_chat_finish(&r->chat);
	return ofs_chat_read(span_of(&r->to->list), span_of(&r->to->system), r->err, &r->chat);
}

/* ---- snapshots and prefetched slices */

/* Finds the last snapshot in the system's text. Returns 1, 0 or -errno. */
static int find_snapshot(struct restoring *r, struct ofs_snapshot_place *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span string = ofs_seam_system(&r->chat);

	if (!string.p)
		return 0;
	ofs_span_decode(string, &text);
	return ofs_seam_find(text.data, text.len, ret) ? ofs_seam_is_ours(ret, r->shelf, r->err)
						       : 0;
}

static int does_not_fit(struct restoring *r, const char *ref)
{
	return ofs_error_set(r->err, EILSEQ,
			     "ref %s does not contain the messages that the snapshot replaced",
			     ref);
}

/* Replaces the first messages of the list by those of the file. */
static int splice(struct restoring *r, const struct ofs_seam_file *file, const char *ref)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;
	const struct ofs_chat *chat = &r->chat;
	const char *first, *rest, *end = chat->list.p + chat->list.len;

	if (file->kept >= chat->n)
		return does_not_fit(r, ref);
	first = chat->messages[0].whole.p;
	rest = chat->messages[file->kept].whole.p;
	ofs_buf_append(&list, chat->list.p, (size_t)(first - chat->list.p));
	if (ofs_seam_write_messages(file, &list) < 0)
		return does_not_fit(r, ref);
	ofs_buf_append(&list, rest, (size_t)(end - rest));
	ofs_buf_finish(&r->to->list);
	r->to->list = ofs_buf_steal(&list);
	return 0;
}

/* Undoes one snapshot. Sets *ret_more if the restored messages have another. */
static int undo_snapshot(struct restoring *r, const struct ofs_snapshot_place *place,
			 bool *ret_more)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	bool beside = !ofs_seam_head(&r->chat);
	uint64_t key = ofs_checksum(place->ref, strlen(place->ref), 0);
	struct ofs_seam_file file;
	int e;

	/* A file that was made to refer to itself would never end. */
	if (ofs_map_get(&r->undone, key))
		return does_not_fit(r, place->ref);
	ofs_map_put(&r->undone, key, r);
	e = ofs_shelf_get_text(r->shelf, place->ref, r->err, &text);

	if (e < 0)
		return e;
	if (ofs_seam_read_file(text.data, text.len, &file) < 0)
		return does_not_fit(r, place->ref);
	e = splice(r, &file, place->ref);
	if (e < 0)
		return e;
	if (beside) {
		ofs_buf_finish(&r->to->system);
		if (file.system.p)
			ofs_buf_append(&r->to->system, file.system.p, file.system.len);
	}
	r->to->snapshots++;
	*ret_more = file.earlier;
	ofs_buf_finish(&text); /* it may be as large as the list */
	return read_chat(r);
}

/* Applies the edits to the list. */
static int rewrite(struct restoring *r, struct ofs_edits *edits)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;
	struct ofs_sink sink = ofs_sink_to_buf(&list);
	const char *start = r->chat.list.p;

	if (!edits->n)
		return 0;
	ofs_edits_sort(edits);
	ofs_edits_write(edits, start, start + r->chat.list.len, &sink);
	ofs_edits_finish(edits); /* they may be as large as the list */
	ofs_buf_finish(&r->to->list);
	r->to->list = ofs_buf_steal(&list);
	return read_chat(r);
}

static int drop_fetched(struct restoring *r)
{
	OFS_CLEANUP(ofs_edits_finish) struct ofs_edits edits = { 0 };
	const struct ofs_chat *chat = &r->chat;

	for (size_t i = 0; i + 1 < chat->n; i++) {
		struct ofs_span part = chat->messages[i].whole;
		struct ofs_buf nothing = OFS_BUF_INIT;

		if (!ofs_prefetch_is(&chat->messages[i]))
			continue;
		part.len = (size_t)(chat->messages[i + 1].whole.p - part.p);
		ofs_edits_replace(&edits, part, &nothing);
	}
	return rewrite(r, &edits);
}

static int undo_snapshots(struct restoring *r)
{
	struct ofs_snapshot_place place;
	bool more = true;
	int e = drop_fetched(r);

	/* Each restores the previous list, which may have had a snapshot of its own. */
	while (e == 0 && more) {
		e = find_snapshot(r, &place);
		if (e <= 0)
			return e;
		e = undo_snapshot(r, &place, &more);
		if (e == 0)
			e = drop_fetched(r);
	}
	return e;
}

/* ---- results */

static int undo_result(struct restoring *r, const struct ofs_chat_result *result,
		       struct ofs_edits *edits)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, string = OFS_BUF_INIT;
	struct ofs_mark mark;
	int e = ofs_shelf_find_mark_in(r->shelf, result->text, r->err, &text, &mark);

	if (e <= 0)
		return e;
	e = ofs_shelf_get(r->shelf, &mark, r->err, &string);
	if (e < 0)
		return e;
	ofs_edits_replace(edits, result->text, &string);
	r->to->results++;
	return 0;
}

static int undo_results(struct restoring *r)
{
	OFS_CLEANUP(ofs_edits_finish) struct ofs_edits edits = { 0 };
	int e = 0;

	for (size_t i = 0; i < r->chat.n_results && e == 0; i++)
		e = undo_result(r, &r->chat.results[i], &edits);
	return e < 0 ? e : rewrite(r, &edits);
}

int ofs_restore(struct ofs_span list, struct ofs_span system, struct ofs_shelf *shelf,
		struct ofs_error *err, struct ofs_restored *ret)
{
	OFS_CLEANUP(ofs_restored_finish) struct ofs_restored to = { 0 };
	struct restoring r = { .shelf = shelf, .err = err, .to = &to, .undone = OFS_MAP_INIT };
	int e;

	ofs_buf_append(&to.list, list.p, list.len);
	if (system.p)
		ofs_buf_append(&to.system, system.p, system.len);
	e = read_chat(&r);
	if (e == 0)
		e = undo_snapshots(&r);
	if (e == 0)
		e = undo_results(&r);
	ofs_chat_finish(&r.chat);
	ofs_map_finish(&r.undone);
	if (e < 0)
		return e;
	*ret = ofs_steal(to);
	return 0;
}
