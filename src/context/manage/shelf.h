/* SPDX-License-Identifier: MIT */
/* Where in the tree the parts of a chat are put, and how they are had again. */
#pragma once

#include "client/access.h"
#include "client/content.h"
#include "client/spool.h"
#include "context/chat/mark.h"
#include "context/json/span.h"

struct ofs_shelf {
	struct ofs_access *access;
	char *folder; /* in the tree */
};

/*
 * `folder` is a directory in the tree, as the user wrote it (NULL: tasks/CHAT/context, or
 * cache/context where `chat` is NULL as well). Nothing is made or opened yet. -EINVAL: not in the
 * tree, or no name for a task.
 */
int ofs_shelf_init(struct ofs_shelf *s, struct ofs_access *access, const char *folder,
		   const char *chat, struct ofs_error *err);
void ofs_shelf_finish(struct ofs_shelf *s);

/* A string that was put there. */
struct ofs_shelved {
	struct ofs_mark mark; /* but for its tag */
	char *path; /* by its ref, absolute where the tree is mounted */
	char *pointer; /* the text that can stand for it, once it is signed */
	bool is_new; /* it was not there before */
	uint64_t size;
	uint64_t lines;
	char sha256[65];
};

void ofs_shelved_finish(struct ofs_shelved *s);

/* A string made ready to be put there; it stays where it is. */
struct ofs_shelf_item {
	struct ofs_mark mark; /* but for its ref and tag */
	struct ofs_buf text; /* what it says; nothing for a raw one */
	struct ofs_spool spool; /* of the text, or of the string itself */
	struct ofs_content content; /* of the spool */
	char *outline; /* of the content; NULL: not made yet */
};

/*
 * Makes `ret`, which must stay where it is, of a string. `style` is how strings were written so
 * far, and is brought up to date. Needs no shelf: it may be done ahead, by another thread.
 */
int ofs_shelf_item_init(struct ofs_shelf_item *ret, struct ofs_span string,
			struct ofs_literal_style *style);
void ofs_shelf_item_finish(struct ofs_shelf_item *item);

/*
 * The tokens that its pointer would have; nothing is put anywhere. `what` is for the pointer, of
 * which a brief one is one line.
 */
int ofs_shelf_weigh(struct ofs_shelf *s, struct ofs_shelf_item *item, const char *what, bool brief,
		    struct ofs_error *err, uint64_t *ret_tokens);

/* Puts it there, once: the same string is the same file. `label` begins its name. */
int ofs_shelf_put(struct ofs_shelf *s, const struct ofs_shelf_item *item, const char *label,
		  const char *what, bool brief, struct ofs_error *err, struct ofs_shelved *ret);

/* Sets the tag in a pointer, which must not be changed any more. */
int ofs_shelf_sign(struct ofs_shelf *s, struct ofs_buf *pointer, struct ofs_error *err);

/* Puts a text there as it is; `ret` has no mark but its ref. */
int ofs_shelf_put_text(struct ofs_shelf *s, const struct ofs_spool *text, const char *label,
		       struct ofs_error *err, struct ofs_shelved *ret);

/*
 * Appends the string that a pointer stands for, as it was written. -EILSEQ: its content was changed
 * since, -EKEYEXPIRED it has expired, and what reading says, with words in `err`.
 */
int ofs_shelf_get(struct ofs_shelf *s, const struct ofs_mark *mark, struct ofs_error *err,
		  struct ofs_buf *ret_string);

/* Allocated: the path of a ref, absolute where the tree is mounted. */
char *ofs_shelf_ref_path(const struct ofs_shelf *s, const char *ref);

/*
 * 1 if the text is a pointer of this store, unaltered, that can be undone, 0 if it only looks like
 * one, or -errno, with the reason in `err`, if the store cannot tell. `ret` may be NULL.
 */
int ofs_shelf_find_mark(struct ofs_shelf *s, const void *text, size_t len, struct ofs_error *err,
			struct ofs_mark *ret);

/* The same of what a string says, which is decoded into `scratch`. */
int ofs_shelf_find_mark_in(struct ofs_shelf *s, struct ofs_span string, struct ofs_error *err,
			   struct ofs_buf *scratch, struct ofs_mark *ret);

/* The tag of a snapshot whose messages have that ref. 0 or -errno with the reason in `err`. */
int ofs_shelf_tag(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		  char ret[OFS_MARK_TAG + 1]);

/* Appends the content of a ref. */
int ofs_shelf_get_text(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		       struct ofs_buf *ret);
