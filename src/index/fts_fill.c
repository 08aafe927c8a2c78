/* SPDX-License-Identifier: MIT */
/* Writing to the search index: contents, part by part, and files. */
#include "base/text.h"
#include "base/words.h"
#include "index/fts_schema.h"

#define PART_MAX ((size_t)256 * 1024) /* bytes that are read at a time */
#define SNIFF 8192 /* bytes at the start that tell text from binary content */
#define PARTS_AT_ONCE 8 /* of a long content, per batch */
#define AHEAD 100 /* bytes of the next document whose words count, too */

/* Appends a word to the text for FTS5, which splits at blanks. */
static void append_word(void *arg, const struct ofs_word *word)
{
	ofs_buf_append(arg, word->text, word->len);
	ofs_buf_append(arg, " ", 1);
}

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
	int64_t first, docs; /* the documents of the content */
	char *buf; /* a part of the content; holds up to PART_MAX bytes, `len` of which are read */
	size_t len;
	uint64_t size; /* of the indexed part */
	ofs_fts_read_fn read;
	void *arg;
	struct ofs_fts_doc at;
	struct ofs_words *words;
	struct ofs_buf text; /* the words of a document */
};

static void filling_finish(struct filling *f)
{
	free(f->buf);
	ofs_words_destroy(f->words);
	ofs_buf_finish(&f->text);
}

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
 * Marks the content as complete. If this is not reached, the row stays incomplete, so that its
 * number is not reused.
 */
static int content_end(struct filling *f)
{
	OFS_DB_LOCKED(&f->fts->db);
	int r = ofs_db_writable(&f->fts->db);

	if (r == 0)
		r = ofs_db_run(&f->fts->db, OFS_FTS_CONTENT_WHOLE,
			       OFS_ARGS(f->content, f->first, f->docs));
	if (r == 0)
		r = ofs_db_run(&f->fts->db, OFS_FTS_VECTOR_RENUMBER, OFS_ARGS(f->content));
	return ofs_fts_written(f->fts, r);
}

static int read_part(struct filling *f)
{
	size_t size = OFS_MIN((uint64_t)PART_MAX, f->size - f->at.off);

	for (f->len = 0; f->len < size;) {
		ssize_t n = f->read(f->arg, f->buf + f->len, size - f->len, f->at.off + f->len);

		if (n <= 0)
			return n < 0 ? (int)n : -ESTALE;
		f->len += (size_t)n;
	}
	return 0;
}

/*
 * The length of the document at the start of `size` bytes: up to the last line end or, if the line
 * is longer than a document, the last blank. Never cuts within a character.
 */
static size_t doc_end(const char *text, size_t size)
{
	const char *end;
	size_t cut = OFS_FTS_DOC_MAX;

	if (size <= cut)
		return size;
	end = memrchr(text, '\n', cut);
	if (!end)
		end = memrchr(text, ' ', cut);
	if (end)
		return (size_t)(end - text) + 1;
	while (cut > OFS_FTS_DOC_MAX - 3 && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

static int insert_text(struct ofs_fts *fts, enum ofs_fts_stmt id, int64_t row,
		       const struct ofs_buf *text)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, id, OFS_ARGS(row), &st);

	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 2, text->data, text->len);
	return r < 0 ? r : ofs_db_step(&fts->db, st);
}

static int insert_doc(struct filling *f)
{
	struct ofs_fts *fts = f->fts;
	int64_t doc;
	int r = ofs_db_writable(&fts->db);

	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_DOC_PUT,
			       OFS_ARGS(f->content, (int64_t)f->at.off, f->at.len,
					(int64_t)f->at.line));
	if (r < 0)
		return r;
	doc = sqlite3_last_insert_rowid(fts->db.conn);
	fts->documents++;
	f->first = f->docs ? f->first : doc;
	f->docs++;
	return insert_text(fts, OFS_FTS_WORD_PUT, doc, &f->text);
}

/*
 * Adds the document that begins `done` bytes after the start of the part. It also gets the words
 * that follow, so that it is found by a phrase that continues there.
 */
static int put_doc(struct filling *f, size_t done)
{
	const char *text = f->buf + done;

	f->text.len = 0;
	ofs_words_each(f->words, text, OFS_MIN(f->at.len + AHEAD, f->len - done), append_word,
		       &f->text);
	OFS_DB_LOCKED(&f->fts->db);
	return ofs_fts_written(f->fts, insert_doc(f));
}

/*
 * Adds the documents of the part. Leaves out the last one, which may continue, unless the content
 * ends there.
 */
static int put_part(struct filling *f)
{
	bool last = f->at.off + f->len == f->size;
	size_t done = 0;
	int r = 0;

	while (r == 0 && f->len - done > (last ? 0 : OFS_FTS_DOC_MAX + AHEAD)) {
		f->at.len = (uint32_t)doc_end(f->buf + done, f->len - done);
		r = put_doc(f, done);
		f->at.off += f->at.len;
		f->at.line += ofs_text_newlines(f->buf + done, f->at.len);
		done += f->at.len;
	}
	return r;
}

static bool is_binary(const struct filling *f)
{
	return !f->at.off && memchr(f->buf, 0, OFS_MIN(f->len, (size_t)SNIFF));
}

static int put_parts(struct filling *f)
{
	int r = 0;

	for (size_t i = 1; f->at.off < f->size && r == 0; i++) {
		r = read_part(f);
		if (r == 0 && is_binary(f))
			break;
		if (r == 0)
			r = put_part(f);
		if (i % PARTS_AT_ONCE == 0 && r == 0)
			r = ofs_fts_commit(f->fts);
		if (i % PARTS_AT_ONCE == 0 && r == 0)
			r = ofs_fts_begin(f->fts);
	}
	return r;
}

int ofs_fts_put_content(struct ofs_fts *fts, const uint8_t sha[32], uint64_t size,
			ofs_fts_read_fn read, void *arg)
{
	OFS_CLEANUP(filling_finish)
	struct filling f = { .fts = fts, .read = read, .arg = arg, .text = OFS_BUF_INIT };
	int r = ofs_fts_has_content(fts, sha);

	if (r != 0)
		return r < 0 ? r : 0;
	f.at.line = 1;
	f.size = OFS_MIN(size, OFS_FTS_CONTENT_MAX);
	f.buf = ofs_alloc(OFS_MIN(f.size, (uint64_t)PART_MAX) + 1);
	f.words = ofs_words_create();
	r = content_begin(&f, sha);
	if (r == 0)
		r = put_parts(&f);
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

/* Counts one more (1) or one less (-1) file with the content; content 0 is none. */
static int content_use(struct ofs_fts *fts, int64_t content, int by)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	uint64_t docs;
	int64_t users;
	int r;

	if (!content)
		return 0;
	r = ofs_db_first(&fts->db, OFS_FTS_CONTENT_GET, OFS_ARGS(content), &st);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	docs = ofs_column_u64(st, 0);
	users = sqlite3_column_int64(st, 1);
	r = ofs_db_run(&fts->db, OFS_FTS_CONTENT_USE, OFS_ARGS(content, by));
	if (r == 0 && by > 0 && users == 0)
		fts->alive += docs;
	if (r == 0 && by < 0 && users == 1)
		fts->alive -= docs;
	return r;
}

/* The words of a file's label. A missing file has none. */
static int label_get(struct ofs_fts *fts, uint64_t ino, struct ofs_buf *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&fts->db, OFS_FTS_FILE_LABEL, OFS_ARGS((int64_t)ino), &st);

	if (r == 0)
		ofs_buf_append(ret, sqlite3_column_text(st, 0),
			       (size_t)sqlite3_column_bytes(st, 0));
	return r == -ENOENT ? 0 : r;
}

/* FTS5 does not store the words, so it must be told which ones to remove. */
static int label_replace(struct ofs_fts *fts, uint64_t ino, const struct ofs_buf *label)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf had = OFS_BUF_INIT;
	int r = label_get(fts, ino, &had);

	if (r < 0 ||
	    (had.len == label->len && (!had.len || memcmp(had.data, label->data, had.len) == 0)))
		return r;
	if (had.len)
		r = insert_text(fts, OFS_FTS_LABEL_DELETE, (int64_t)ino, &had);
	return r < 0 || !label->len ? r : insert_text(fts, OFS_FTS_LABEL_PUT, (int64_t)ino, label);
}

static int row_put(struct ofs_fts *fts, uint64_t ino, int64_t stamp, int64_t content,
		   const struct ofs_buf *label)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, OFS_FTS_FILE_PUT, OFS_ARGS((int64_t)ino, stamp, content),
			     &st);

	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 4, label->data, label->len);
	return r < 0 ? r : ofs_db_step(&fts->db, st);
}

static int file_put(struct ofs_fts *fts, uint64_t ino, const uint8_t *sha, int64_t stamp,
		    const struct ofs_buf *label)
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
		r = label_replace(fts, ino, label);
	if (r == 0)
		r = row_put(fts, ino, stamp, content, label);
	if (r == 0)
		fts->files += known == -ENOENT;
	return r;
}

int ofs_fts_put_file(struct ofs_fts *fts, uint64_t ino, const uint8_t *sha, const char *name,
		     const char *title, const char *tags, int64_t stamp)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf label = OFS_BUF_INIT;
	const char *const texts[] = { name, title, tags };
	struct ofs_words *words = ofs_words_create();
	int r;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		if (texts[i])
			ofs_words_each(words, texts[i], strlen(texts[i]), append_word, &label);
	ofs_words_destroy(words);
	OFS_DB_LOCKED(&fts->db);
	r = ofs_db_writable(&fts->db);
	if (r == 0)
		r = file_put(fts, ino, sha, stamp, &label);
	return r == -ENOENT ? r : ofs_fts_written(fts, r);
}

static int file_remove(struct ofs_fts *fts, uint64_t ino)
{
	static const struct ofs_buf none = OFS_BUF_INIT;
	struct ofs_fts_file had;
	int64_t content = 0;
	int r = file_get(fts, ino, &had, &content);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = content_use(fts, content, -1);
	if (r == 0)
		r = label_replace(fts, ino, &none);
	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_FILE_DELETE, OFS_ARGS((int64_t)ino));
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
