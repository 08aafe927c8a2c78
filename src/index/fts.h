/* SPDX-License-Identifier: MIT */
/*
 * The search index: a full-text index in a SQLite database of its own, beside the index. It holds
 * only derived data: it may be deleted at any time, and its writer then rebuilds it.
 *
 * Content is indexed once per SHA-256, by its words (base/words.h), in documents of at most
 * OFS_FTS_DOC_MAX bytes that are cut at line ends. A document also counts as having the words of
 * the first bytes of the next one. Files refer to their content. A content without a file is dead:
 * it is never found, but takes space until ofs_fts_rebuild(), since a document cannot be removed
 * without its text.
 *
 * Every call may come from any thread. The lock of the connection is held for one statement at a
 * time, so that searches continue between the statements of a batch; they see what the batch has
 * written so far. One thread at a time may have a batch.
 *
 * All functions return 0 (or a count) or -errno. -EUCLEAN: the database was damaged and has been
 * started anew; an open batch is lost, and ofs_fts_generation() has changed.
 */
#pragma once

#include <sys/types.h>

#include <offloadfs/error.h>

#include "base/u64_list.h"
#include "base/util.h"

#define OFS_FTS_DOC_MAX 1024
#define OFS_FTS_CONTENT_MAX (UINT64_C(64) << 20) /* bytes indexed of a content, from its start */

struct ofs_fts;

/*
 * A part of a content: the bytes [off, off + len), the first of which is in line `line`, counted
 * from 1. A document that is indexed later has a higher number.
 */
struct ofs_fts_doc {
	uint8_t sha[32];
	uint64_t off;
	uint32_t len;
	uint64_t line;
};

/* The entry of a file. `stamp` is the caller's, to tell whether the file has changed since. */
struct ofs_fts_file {
	uint64_t ino;
	bool has_sha;
	uint8_t sha[32];
	int64_t stamp;
};

struct ofs_fts_counts {
	uint64_t files;
	uint64_t documents; /* including dead ones */
	uint64_t dead;
	uint64_t bytes; /* on disk, including the write-ahead log */
};

/*
 * Opens `path`, or creates it with mode 0600. If the database is damaged or has another format,
 * this is logged and it is started anew. -EBUSY: another process has it.
 */
int ofs_fts_open(const char *path, struct ofs_error *err, struct ofs_fts **ret);

/* Rolls an open batch back. NULL is allowed. */
void ofs_fts_close(struct ofs_fts *fts);

/* Changes whenever the index is started anew. Never 0. */
uint64_t ofs_fts_generation(struct ofs_fts *fts);

/* Changes whenever documents lose their numbers. */
uint64_t ofs_fts_numbering(struct ofs_fts *fts);

/* ---- filling it: all writes but set_complete and rebuild need a batch */

/* -EINVAL: a batch is open. */
int ofs_fts_begin(struct ofs_fts *fts);
/* If a write has failed, rolls the batch back and returns the error. */
int ofs_fts_commit(struct ofs_fts *fts);

/* 1 if the content is indexed or is not text, else 0; or -errno. */
int ofs_fts_has_content(struct ofs_fts *fts, const uint8_t sha[32]);

/* Reads content as pread(2) does. */
typedef ssize_t (*ofs_fts_read_fn)(void *arg, void *buf, size_t size, uint64_t off);

/*
 * Indexes a content of `size` bytes unless it is indexed already. A content with a NUL in its first
 * 8 KiB gets no documents. `read` runs with no lock held. If it fails, or the content ends early
 * (-ESTALE), only dead documents remain. For a long content, the batch is committed and a new one
 * started every 2 MiB.
 */
int ofs_fts_put_content(struct ofs_fts *fts, const uint8_t sha[32], uint64_t size,
			ofs_fts_read_fn read, void *arg);

/*
 * Adds or updates a file. With `sha` NULL its content is unknown; otherwise the content must be
 * indexed (-ENOENT). `title` and `tags` may be NULL. Strings need not be UTF-8.
 */
int ofs_fts_put_file(struct ofs_fts *fts, uint64_t ino, const uint8_t *sha, const char *name,
		     const char *title, const char *tags, int64_t stamp);

/* A missing file is not an error. */
int ofs_fts_remove_file(struct ofs_fts *fts, uint64_t ino);

/* -ENOENT. */
int ofs_fts_get_file(struct ofs_fts *fts, uint64_t ino, struct ofs_fts_file *ret);

/* Returns up to `max` inode numbers above `after`, in order, and their count; 0 at the end. */
int ofs_fts_list_files(struct ofs_fts *fts, uint64_t after, uint64_t *ret, size_t max);

/* Records whether anything is left to index. Durable when the call returns. -EINVAL in a batch. */
int ofs_fts_set_complete(struct ofs_fts *fts, bool complete);
int ofs_fts_is_complete(struct ofs_fts *fts); /* 1 or 0, or -errno */

/* True if there are at least 1000 documents and more than half of them are dead. */
bool ofs_fts_is_wasteful(struct ofs_fts *fts);

/*
 * Drops all documents. Files keep their names, but get the stamp 0 and no content: all content must
 * be added again. -EINVAL in a batch.
 */
int ofs_fts_rebuild(struct ofs_fts *fts);

/*
 * Makes the database smaller and queries faster after many additions, a little at a time. 1: there
 * is more to do. -EINVAL in a batch.
 */
int ofs_fts_tidy(struct ofs_fts *fts);

int ofs_fts_counts(struct ofs_fts *fts, struct ofs_fts_counts *ret);

/* ---- vectors of documents (embed/embed.h): those of another model or of no content are pruned */

/* A content without vectors. */
struct ofs_fts_bare {
	uint64_t id; /* later contents have higher ids */
	uint8_t sha[32];
	struct ofs_fts_range {
		uint64_t off;
		uint32_t len;
	} * docs; /* the caller frees it */
	size_t ndocs;
};

/* The first content after `after` without vectors of the model. -ENOENT: none. */
int ofs_fts_next_bare(struct ofs_fts *fts, const char *model, uint64_t after,
		      struct ofs_fts_bare *ret);

/* Adds the vectors of all documents of a content, `len` bytes in all. Needs a batch. */
int ofs_fts_put_vectors(struct ofs_fts *fts, const char *model, const uint8_t sha[32],
			const void *data, size_t len);

/*
 * Calls `fn` for up to `limit` contents whose vectors have a number above *at, which it advances.
 * `doc` is the first of the content's `ndocs` documents. Under the lock: `fn` must not call the
 * index. Returns how many contents there were.
 */
int ofs_fts_list_vectors(struct ofs_fts *fts, const char *model, uint64_t *at, size_t limit,
			 void (*fn)(void *arg, uint64_t doc, size_t ndocs, const void *data,
				    size_t len),
			 void *arg);

/* Drops some vectors that are no longer needed. Needs a batch. 1: there may be more. */
int ofs_fts_prune_vectors(struct ofs_fts *fts, const char *model);

/* ---- queries: results are appended to the lists; words are those of base/words.h */

/* The documents that have the word, newest first. */
int ofs_fts_find_word(struct ofs_fts *fts, const char *word, size_t len, size_t limit,
		      struct ofs_u64_list *ret);

/* Documents with words that begin with `start`, in no order, and possibly more than once. */
int ofs_fts_find_start(struct ofs_fts *fts, const char *start, size_t len, size_t limit,
		       struct ofs_u64_list *ret);

/* The files that have the word in their name, title or tags, highest number first. */
int ofs_fts_find_label(struct ofs_fts *fts, const char *word, size_t len, size_t limit,
		       struct ofs_u64_list *ret);

/* -ENOENT: there is no such document, or it is dead. */
int ofs_fts_get_doc(struct ofs_fts *fts, uint64_t id, struct ofs_fts_doc *ret);

/* The documents of a file's content: *ret_n consecutive ones. */
int ofs_fts_docs_of(struct ofs_fts *fts, uint64_t ino, uint64_t *ret_first, uint64_t *ret_n);

/* The files that have this content, highest number first. */
int ofs_fts_files_of(struct ofs_fts *fts, const uint8_t sha[32], struct ofs_u64_list *ret);
