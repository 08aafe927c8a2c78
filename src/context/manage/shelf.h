/* SPDX-License-Identifier: MIT */
/*
 * A shelf: the directory of the tree where parts of a chat are stored, and reading them back.
 * Functions with `err` return 0, unless stated otherwise, or -errno with the reason in it.
 */
#pragma once

#include "client/access.h"
#include "client/content.h"
#include "client/spool.h"
#include "context/chat/mark.h"
#include "context/json/span.h"

struct ofs_shelf {
	struct ofs_access *access;
	char *folder; /* path in the tree */
};

/*
 * `folder` is a directory in the tree as the user wrote it. NULL: tasks/CHAT/context, or
 * cache/context if `chat` is NULL, too. Creates and opens nothing yet. Returns -EINVAL if
 * the folder is outside the tree, or the chat is not a valid name of a task.
 */
int ofs_shelf_init(struct ofs_shelf *s, struct ofs_access *access, const char *folder,
		   const char *chat, struct ofs_error *err);
void ofs_shelf_finish(struct ofs_shelf *s);

/* A stored string. */
struct ofs_shelved {
	struct ofs_mark mark; /* without its tag */
	char *path; /* path of its ref, absolute if the tree is mounted */
	char *pointer; /* replaces it in the chat, once signed */
	bool is_new; /* it was not stored before */
	uint64_t size;
	uint64_t lines;
	char sha256[65];
};

void ofs_shelved_finish(struct ofs_shelved *s);

/* A string prepared for storing. Must not be moved. */
struct ofs_shelf_item {
	struct ofs_mark mark; /* without its ref and tag */
	struct ofs_buf text; /* the decoded string; empty for a raw one */
	struct ofs_spool spool; /* wraps the text, or the raw string */
	struct ofs_content content; /* of the spool */
	char *outline; /* of the content; NULL: not made yet */
};

/*
 * Prepares a string in place. `style` is the style of earlier strings, and is updated. Needs no
 * shelf, so another thread may do this ahead. Returns 0 or -errno.
 */
int ofs_shelf_item_init(struct ofs_shelf_item *ret, struct ofs_span string,
			struct ofs_literal_style *style);
void ofs_shelf_item_finish(struct ofs_shelf_item *item);

/*
 * Computes the tokens of the item's pointer without storing anything. `what` is the title; `brief`:
 * the pointer is a single line.
 */
int ofs_shelf_weigh(struct ofs_shelf *s, struct ofs_shelf_item *item, const char *what, bool brief,
		    struct ofs_error *err, uint64_t *ret_tokens);

/*
 * Stores an item; the same string always becomes the same file. `label` starts the file's name;
 * `what` and `brief` are as above.
 */
int ofs_shelf_put(struct ofs_shelf *s, const struct ofs_shelf_item *item, const char *label,
		  const char *what, bool brief, struct ofs_error *err, struct ofs_shelved *ret);

/* Sets the tag in a pointer, which must stay unchanged afterwards. */
int ofs_shelf_sign(struct ofs_shelf *s, struct ofs_buf *pointer, struct ofs_error *err);

/* Stores a text as it is; only the ref of its mark is set. */
int ofs_shelf_put_text(struct ofs_shelf *s, const struct ofs_spool *text, const char *label,
		       struct ofs_error *err, struct ofs_shelved *ret);

/*
 * Appends the string that a pointer replaced, as it was written. Returns -EILSEQ if the stored
 * content has changed, -EKEYEXPIRED if it has expired, or another -errno.
 */
int ofs_shelf_get(struct ofs_shelf *s, const struct ofs_mark *mark, struct ofs_error *err,
		  struct ofs_buf *ret_string);

/* Returns the path of a ref, allocated; absolute if the tree is mounted. */
char *ofs_shelf_ref_path(const struct ofs_shelf *s, const char *ref);

/*
 * Returns 1 if the text is an unaltered, reversible pointer of this store, 0 if not, or -errno if
 * the store's key cannot be read. `ret` (may be NULL) is set on 1.
 */
int ofs_shelf_find_mark(struct ofs_shelf *s, const void *text, size_t len, struct ofs_error *err,
			struct ofs_mark *ret);

/* As ofs_shelf_find_mark(), for a JSON string, which is decoded into `scratch`. */
int ofs_shelf_find_mark_in(struct ofs_shelf *s, struct ofs_span string, struct ofs_error *err,
			   struct ofs_buf *scratch, struct ofs_mark *ret);

/* Computes the tag of a snapshot whose messages have that ref. */
int ofs_shelf_tag(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		  char ret[OFS_MARK_TAG + 1]);

/* Appends the content of a ref. */
int ofs_shelf_get_text(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		       struct ofs_buf *ret);
