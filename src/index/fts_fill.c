/* SPDX-License-Identifier: MIT */
/* Writing to the search index: contents, in parts, and files. */
#include "base/text.h"
#include "index/fts_fold.h"
#include "index/fts_schema.h"

#define SNIFF 8192 /* bytes at the start that tell text from what is none */
#define PARTS_AT_ONCE 8 /* of a long content, in one batch */

/* ---- contents */

int ofs_fts_content_find(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, OFS_FTS_CONTENT_FIND, OFS_NO_ARGS, &st);

	if (r == 0)
		r = ofs_db_bind_blob(&fts->db, st, 1, sha, 32);
	if (r == 0)
		r = ofs_db_step(&fts->db, st);
	if (r > 0)
		*ret = sqlite3_column_int64(st, 0);
	return r;
}

int ofs_fts_has_content(struct ofs_fts *fts, const uint8_t sha[32])
{
	OFS_DB_LOCKED(&fts->db);
	int64_t id;

	return ofs_fts_done(fts, ofs_fts_content_find(fts, sha, &id));
}

struct filling {
	struct ofs_fts *fts;
	int64_t content;
	uint8_t *buf; /* OFS_FTS_PART_MAX bytes */
	uint64_t size; /* of what is indexed */
	ofs_fts_read_fn read;
	void *arg;
	struct ofs_fts_doc at;
	bool is_binary;
};

static int content_insert(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret)
{
	int r = ofs_db_run_blob(&fts->db, OFS_FTS_CONTENT_PUT, OFS_NO_ARGS, sha, 32);

	if (r == 0)
		*ret = sqlite3_last_insert_rowid(fts->db.conn);
	return r;
}

static int content_begin(struct filling *f, const uint8_t sha[32])
{
	OFS_DB_LOCKED(&f->fts->db);
	int r = ofs_db_writable(&f->fts->db);

	return r < 0 ? r : ofs_fts_written(f->fts, content_insert(f->fts, sha, &f->content));
}

/*
 * The content is complete. Without this the row stays incomplete, so that its number is not reused.
 */
static int content_end(struct filling *f)
{
	OFS_DB_LOCKED(&f->fts->db);
	int r = ofs_db_writable(&f->fts->db);

	if (r == 0)
		r = ofs_db_run(&f->fts->db, OFS_FTS_CONTENT_WHOLE,
			       OFS_ARGS(f->content, f->at.part));
	return ofs_fts_written(f->fts, r);
}

static int read_whole(struct filling *f, uint64_t off, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = f->read(f->arg, f->buf + done, size - done, off + done);

		if (n <= 0)
			return n < 0 ? (int)n : -ESTALE;
		done += (size_t)n;
	}
	return 0;
}

/*
 * The length of the first part of `size` bytes that more bytes follow: up to the last line end, if
 * any.
 */
static size_t part_end(const uint8_t *text, size_t size)
{
	const uint8_t *end = memrchr(text, '\n', size);
	size_t cut = size;

	if (end)
		return (size_t)(end - text) + 1;
	/* Not within a character. */
	for (int i = 0; i < 3 && text[cut - 1] >> 6 == 2; i++)
		cut--;
	return text[cut - 1] >= 0xc0 && cut > 1 ? cut - 1 : size;
}

static int bind_text(struct ofs_fts *fts, sqlite3_stmt *st, int param, const struct ofs_buf *b)
{
	const char *text = b->len ? (const char *)b->data : "";

	return ofs_db_errno(&fts->db, sqlite3_bind_text64(st, param, text, b->len, SQLITE_STATIC,
							  SQLITE_UTF8));
}

static int insert_text(struct ofs_fts *fts, enum ofs_fts_stmt id, int64_t doc,
		       const struct ofs_buf *text)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, id, OFS_ARGS(doc), &st);

	if (r == 0)
		r = bind_text(fts, st, 2, text);
	return r < 0 ? r : ofs_db_step(&fts->db, st);
}

static int insert_doc(struct filling *f, int64_t *ret)
{
	int r = ofs_db_writable(&f->fts->db);

	if (r == 0)
		r = ofs_db_run(&f->fts->db, OFS_FTS_DOC_PUT,
			       OFS_ARGS(f->content, f->at.part, (int64_t)f->at.off, f->at.len,
					(int64_t)f->at.line));
	if (r == 0) {
		*ret = sqlite3_last_insert_rowid(f->fts->db.conn);
		f->fts->documents++;
	}
	return r;
}

/* The lock is taken for each table anew, since a whole part takes some milliseconds in each. */
static int put_part(struct filling *f)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, folded = OFS_BUF_INIT;
	int64_t doc = 0;
	int r;

	ofs_fts_clean(f->buf, f->at.len, false, &text);
	ofs_fts_clean(f->buf, f->at.len, true, &folded);
	{
		OFS_DB_LOCKED(&f->fts->db);

		r = insert_doc(f, &doc);
		if (r == 0)
			r = insert_text(f->fts, OFS_FTS_WORD_PUT, doc, &text);
		r = ofs_fts_written(f->fts, r);
	}
	if (r < 0)
		return r;
	OFS_DB_LOCKED(&f->fts->db);
	r = ofs_db_writable(&f->fts->db);
	return r < 0 ? r
		     : ofs_fts_written(f->fts, insert_text(f->fts, OFS_FTS_GRAM_PUT, doc, &folded));
}

static int next_part(struct filling *f)
{
	size_t size = OFS_MIN((uint64_t)OFS_FTS_PART_MAX, f->size - f->at.off);
	int r = read_whole(f, f->at.off, size);

	if (r < 0)
		return r;
	f->is_binary = !f->at.off && memchr(f->buf, 0, OFS_MIN(size, (size_t)SNIFF));
	if (f->is_binary)
		return 0;
	if (f->at.off + size < f->size)
		size = part_end(f->buf, size);
	f->at.len = (uint32_t)size;
	r = put_part(f);
	if (r < 0)
		return r;
	f->at.line += ofs_text_newlines(f->buf, size);
	f->at.off += size;
	f->at.part++;
	if (f->at.part % PARTS_AT_ONCE || f->at.off == f->size)
		return 0;
	r = ofs_fts_commit(f->fts);
	return r < 0 ? r : ofs_fts_begin(f->fts);
}

int ofs_fts_put_content(struct ofs_fts *fts, const uint8_t sha[32], uint64_t size,
			ofs_fts_read_fn read, void *arg)
{
	struct filling f = { .fts = fts, .read = read, .arg = arg, .at = { .line = 1 } };
	OFS_FREE uint8_t *buf = NULL;
	int r = ofs_fts_has_content(fts, sha);

	if (r != 0)
		return r < 0 ? r : 0;
	f.size = OFS_MIN(size, OFS_FTS_CONTENT_MAX);
	f.buf = buf = ofs_alloc(OFS_MIN(f.size, (uint64_t)OFS_FTS_PART_MAX) + 1);
	r = content_begin(&f, sha);
	if (r < 0)
		return r;
	while (r == 0 && f.at.off < f.size && !f.is_binary)
		r = next_part(&f);
	return r < 0 ? r : content_end(&f);
}

/* ---- files */

static int file_get(struct ofs_fts *fts, uint64_t ino, struct ofs_fts_file *ret,
		    int64_t *ret_content)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_fts_file file = { .ino = ino };
	int r = ofs_db_first(&fts->db, OFS_FTS_FILE_GET, OFS_ARGS((int64_t)ino), &st);

	if (r < 0)
		return r;
	file.stamp = sqlite3_column_int64(st, 1);
	*ret_content = sqlite3_column_int64(st, 0);
	file.has_sha = *ret_content != 0;
	if (file.has_sha)
		r = ofs_column_bytes(st, 2, file.sha, sizeof(file.sha));
	if (r == 0)
		*ret = file;
	return r;
}

int ofs_fts_get_file(struct ofs_fts *fts, uint64_t ino, struct ofs_fts_file *ret)
{
	OFS_DB_LOCKED(&fts->db);
	int64_t content;

	return ofs_fts_done(fts, file_get(fts, ino, ret, &content));
}

/* One file more (1) or less (-1) has the content; content 0 is none. */
static int content_use(struct ofs_fts *fts, int64_t content, int by)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	uint64_t parts;
	int64_t users;
	int r;

	if (!content)
		return 0;
	r = ofs_db_first(&fts->db, OFS_FTS_CONTENT_GET, OFS_ARGS(content), &st);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	parts = ofs_column_u64(st, 1);
	users = sqlite3_column_int64(st, 2);
	r = ofs_db_run(&fts->db, OFS_FTS_CONTENT_USE, OFS_ARGS(content, by));
	if (r == 0 && by > 0 && users == 0)
		fts->alive += parts;
	if (r == 0 && by < 0 && users == 1)
		fts->alive -= parts;
	return r;
}

static int bind_folded(struct ofs_fts *fts, sqlite3_stmt *st, int param, const char *text,
		       struct ofs_buf *buf)
{
	if (text)
		ofs_fts_clean(text, strlen(text), true, buf);
	return bind_text(fts, st, param, buf);
}

static int name_put(struct ofs_fts *fts, uint64_t ino, const char *name, const char *title,
		    const char *tags)
{
	OFS_CLEANUP(ofs_buf_finish)
	struct ofs_buf a = OFS_BUF_INIT, b = OFS_BUF_INIT, c = OFS_BUF_INIT;
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_run(&fts->db, OFS_FTS_NAME_DELETE, OFS_ARGS((int64_t)ino));

	if (r == 0)
		r = ofs_db_start(&fts->db, OFS_FTS_NAME_PUT, OFS_ARGS((int64_t)ino), &st);
	if (r == 0)
		r = bind_folded(fts, st, 2, name, &a);
	if (r == 0)
		r = bind_folded(fts, st, 3, title, &b);
	if (r == 0)
		r = bind_folded(fts, st, 4, tags, &c);
	return r < 0 ? r : ofs_db_step(&fts->db, st);
}

static int file_put(struct ofs_fts *fts, uint64_t ino, const uint8_t *sha, int64_t stamp)
{
	struct ofs_fts_file had;
	int64_t old = 0, content = 0;
	int r = sha ? ofs_fts_content_find(fts, sha, &content) : 1, known;

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	known = file_get(fts, ino, &had, &old);
	if (known < 0 && known != -ENOENT)
		return known;
	r = content_use(fts, content, 1);
	if (r == 0)
		r = content_use(fts, old, -1);
	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_FILE_PUT, OFS_ARGS((int64_t)ino, stamp, content));
	if (r == 0)
		fts->files += known == -ENOENT;
	return r;
}

int ofs_fts_put_file(struct ofs_fts *fts, uint64_t ino, const uint8_t *sha, const char *name,
		     const char *title, const char *tags, int64_t stamp)
{
	OFS_DB_LOCKED(&fts->db);
	int r = ofs_db_writable(&fts->db);

	if (r == 0)
		r = file_put(fts, ino, sha, stamp);
	if (r == -ENOENT)
		return r;
	if (r == 0)
		r = name_put(fts, ino, name, title, tags);
	return ofs_fts_written(fts, r);
}

static int file_remove(struct ofs_fts *fts, uint64_t ino)
{
	struct ofs_fts_file had;
	int64_t content = 0;
	int r = file_get(fts, ino, &had, &content);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = content_use(fts, content, -1);
	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_FILE_DELETE, OFS_ARGS((int64_t)ino));
	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_NAME_DELETE, OFS_ARGS((int64_t)ino));
	if (r == 0)
		fts->files--;
	return r;
}

int ofs_fts_remove_file(struct ofs_fts *fts, uint64_t ino)
{
	OFS_DB_LOCKED(&fts->db);
	int r = ofs_db_writable(&fts->db);

	return r < 0 ? r : ofs_fts_written(fts, file_remove(fts, ino));
}

static int files_list(struct ofs_fts *fts, uint64_t after, uint64_t *ret, size_t max)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, OFS_FTS_FILE_LIST, OFS_ARGS((int64_t)after, (int64_t)max),
			     &st);
	int n = 0;

	while (r == 0 && (r = ofs_db_step(&fts->db, st)) > 0) {
		ret[n++] = ofs_column_u64(st, 0);
		r = 0;
		if ((size_t)n == max)
			break;
	}
	return r < 0 ? r : n;
}

int ofs_fts_list_files(struct ofs_fts *fts, uint64_t after, uint64_t *ret, size_t max)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, files_list(fts, after, ret, max));
}
