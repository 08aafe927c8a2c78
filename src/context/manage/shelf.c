/* SPDX-License-Identifier: MIT */
#include "context/manage/shelf.h"

#include "base/tokens.h"
#include "client/naming.h"
#include "client/pointer.h"
#include "codec/hash.h"
#include "io/path.h"

#define CATEGORY "context"
#define LABEL_MAX 40
#define NAME_HASH 16 /* hex digits in the name of a file */
#define NAME_MAX_SIZE 128
#define NAME_TRIES 100
/* A ref of the greatest length. */
#define SOME_REF "k3f9x2k3"

int ofs_shelf_init(struct ofs_shelf *s, struct ofs_access *access, const char *folder,
		   const char *chat, struct ofs_error *err)
{
	char usual[OFS_NAMING_MAX + 32] = "cache/" CATEGORY;
	int r;

	*s = (struct ofs_shelf){ .access = access };
	if (folder) {
		r = ofs_access_find(access, err);
		return r < 0 ? r : ofs_access_inside(access, folder, err, &s->folder);
	}
	if (chat) {
		r = ofs_naming_check("chat_id", chat, err);
		if (r < 0)
			return r;
		snprintf(usual, sizeof(usual), "tasks/%s/" CATEGORY, chat);
	}
	s->folder = ofs_strdup(usual);
	return 0;
}

void ofs_shelf_finish(struct ofs_shelf *s)
{
	free(s->folder);
	*s = (struct ofs_shelf){ 0 };
}

void ofs_shelved_finish(struct ofs_shelved *s)
{
	free(s->path);
	free(s->pointer);
	*s = (struct ofs_shelved){ 0 };
}

/* ---- putting */

/* Writes "<label>_<hash>.<ext>", fit for a shell, or "<label>_<hash>_2.<ext>" for another try. */
static void make_name(const char *label, const char *hash, const char *ext, int try,
		      char ret[NAME_MAX_SIZE])
{
	char number[16] = "";
	size_t n = 0;

	for (; *label && n < LABEL_MAX; label++) {
		bool plain = (*label >= 'a' && *label <= 'z') || (*label >= '0' && *label <= '9') ||
			     (*label >= 'A' && *label <= 'Z');

		if (plain || (n && ret[n - 1] != '_'))
			ret[n++] = plain ? *label : '_';
	}
	if (!n || ret[n - 1] == '_')
		n -= n > 0;
	if (try > 1)
		snprintf(number, sizeof(number), "_%d", try);
	snprintf(ret + n, NAME_MAX_SIZE - n, "%s%.*s%s.%s", n ? "_" : "", NAME_HASH, hash, number,
		 ext);
}

int ofs_shelf_sign(struct ofs_shelf *s, struct ofs_buf *pointer, struct ofs_error *err)
{
	char tag[OFS_MARK_TAG + 1];
	const char *key;
	size_t at;
	int r = ofs_access_key(s->access, err, &key);

	if (r == 0 && ofs_mark_tag(pointer->data, pointer->len, key, tag, &at))
		memcpy(pointer->data + at, tag, OFS_MARK_TAG);
	return r;
}

char *ofs_shelf_ref_path(const struct ofs_shelf *s, const char *ref)
{
	OFS_FREE char *path = ofs_path_join("refs", ref);

	return ofs_access_display(s->access, path);
}

/*
 * Computes a checksum that tells whether a string is the one taken out. It need not resist forgery,
 * since whoever can write the file can also write the pointer.
 */
static void make_hash(const void *string, size_t len, char ret[OFS_MARK_HASH + 1])
{
	uint64_t sum = ofs_checksum(string, len, 0);

	snprintf(ret, OFS_MARK_HASH + 1, "%08x", (unsigned int)(sum ^ sum >> 32));
}

void ofs_shelf_item_finish(struct ofs_shelf_item *item)
{
	ofs_spool_finish(&item->spool);
	ofs_buf_finish(&item->text);
	free(item->outline);
}

int ofs_shelf_item_init(struct ofs_shelf_item *ret, struct ofs_span string,
			struct ofs_literal_style *style)
{
	int r;

	*ret = (struct ofs_shelf_item){ .spool = OFS_SPOOL_INIT };
	ofs_span_decode(string, &ret->text);
	ret->mark.raw = !ofs_literal_style_find(string, ret->text.data, ret->text.len, style);
	ret->mark.style = *style;
	make_hash(string.p, string.len, ret->mark.hash);
	if (ret->mark.raw) {
		ofs_buf_finish(&ret->text);
		ofs_spool_wrap(&ret->spool, string.p, string.len);
	} else {
		ofs_spool_wrap(&ret->spool, ret->text.data, ret->text.len);
	}
	r = ofs_content_scan(&ret->spool, &ret->content);
	if (r < 0)
		ofs_shelf_item_finish(ret);
	return r;
}

/* Stores the content; under another name if the file with its name has been changed. */
static int deposit(struct ofs_shelf *s, const struct ofs_content *content, const char *label,
		   struct ofs_error *err, struct ofs_deposited *ret)
{
	char name[NAME_MAX_SIZE];
	const struct ofs_deposit deposit = { .category = CATEGORY,
					     .folder = s->folder,
					     .name = name };
	int r = ofs_access_open(s->access, true, err);

	if (r < 0)
		return r;
	r = -EEXIST;
	for (int try = 1; try <= NAME_TRIES && r == -EEXIST; try++) {
		make_name(label, content->sha256, content->ext, try, name);
		r = ofs_deposit_store(&deposit, content, s->access->backend, err, ret);
	}
	return r;
}

static void describe(const struct ofs_shelf *s, const struct ofs_deposited *file,
		     const struct ofs_content *content, struct ofs_shelved *ret)
{
	snprintf(ret->mark.ref, sizeof(ret->mark.ref), "%s", file->ref);
	ret->path = ofs_shelf_ref_path(s, file->ref);
	ret->is_new = file->is_new;
	ret->size = content->size;
	ret->lines = content->lines;
	memcpy(ret->sha256, content->sha256, sizeof(ret->sha256));
}

/* Makes the pointer, complete but for its tag. */
static int make_pointer(const struct ofs_shelf *s, const struct ofs_shelf_item *item,
			const char *what, bool brief, const char *ref, struct ofs_error *err,
			struct ofs_buf *out)
{
	OFS_FREE char *pointer = NULL, *path = ofs_shelf_ref_path(s, ref);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, string = OFS_BUF_INIT;
	struct ofs_mark mark = item->mark;
	char code[OFS_MARK_CODE_MAX];
	int r;

	memset(mark.tag, '0', OFS_MARK_TAG); /* until it is signed */
	ofs_mark_code(&mark, code);
	r = ofs_pointer_make((struct ofs_pointer){ .what = what,
						   .content = &item->content,
						   .mark = code,
						   .brief = brief,
						   .outline = item->outline },
			     s->access, ref, err, &pointer);
	if (r < 0)
		return r;
	ofs_mark_write(pointer, path, &text);
	/* The tag covers what will be read: JSON cannot hold all bytes of a path. */
	ofs_literal_encode(NULL, text.data, text.len, &string);
	ofs_span_decode((struct ofs_span){ (char *)string.data, string.len }, out);
	return 0;
}

int ofs_shelf_weigh(struct ofs_shelf *s, struct ofs_shelf_item *item, const char *what, bool brief,
		    struct ofs_error *err, uint64_t *ret_tokens)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = 0;

	if (!brief && !item->outline)
		r = ofs_pointer_outline(&item->content, &item->outline);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot examine a result: %s", strerror(-r));
	r = make_pointer(s, item, what, brief, SOME_REF, err, &text);
	*ret_tokens = ofs_tokens_count(text.data, text.len);
	return r;
}

int ofs_shelf_put(struct ofs_shelf *s, const struct ofs_shelf_item *item, const char *label,
		  const char *what, bool brief, struct ofs_error *err, struct ofs_shelved *ret)
{
	OFS_CLEANUP(ofs_deposited_finish) struct ofs_deposited file = { 0 };
	OFS_CLEANUP(ofs_shelved_finish) struct ofs_shelved made = { .mark = item->mark };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = deposit(s, &item->content, label, err, &file);

	if (r < 0)
		return r;
	describe(s, &file, &item->content, &made);
	r = make_pointer(s, item, what, brief, file.ref, err, &text);
	if (r < 0)
		return r;
	made.pointer = ofs_buf_steal_str(&text);
	*ret = ofs_steal(made);
	return 0;
}

int ofs_shelf_put_text(struct ofs_shelf *s, const struct ofs_spool *text, const char *label,
		       struct ofs_error *err, struct ofs_shelved *ret)
{
	OFS_CLEANUP(ofs_deposited_finish) struct ofs_deposited file = { 0 };
	struct ofs_content content;
	int r = ofs_content_scan(text, &content);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot examine a text: %s", strerror(-r));
	r = deposit(s, &content, label, err, &file);
	if (r < 0)
		return r;
	*ret = (struct ofs_shelved){ 0 };
	describe(s, &file, &content, ret);
	return 0;
}

/* ---- getting */

int ofs_shelf_find_mark(struct ofs_shelf *s, const void *text, size_t len, struct ofs_error *err,
			struct ofs_mark *ret)
{
	char tag[OFS_MARK_TAG + 1];
	struct ofs_mark mark;
	const char *key;
	size_t at;
	int r;

	if (!ofs_mark_read(text, len, &mark))
		return 0;
	r = ofs_access_key(s->access, err, &key);
	if (r < 0) /* without a store nothing was stored */
		return r == -ENOENT ? 0 : r;
	if (!ofs_mark_tag(text, len, key, tag, &at) || strcmp(tag, mark.tag) != 0)
		return 0;
	if (ret)
		*ret = mark;
	return 1;
}

int ofs_shelf_find_mark_in(struct ofs_shelf *s, struct ofs_span string, struct ofs_error *err,
			   struct ofs_buf *scratch, struct ofs_mark *ret)
{
	scratch->len = 0;
	/* No program escapes the letters that a pointer starts with. */
	if (!ofs_mark_may_be(string.p + 1, string.len - 2))
		return 0;
	ofs_span_decode(string, scratch);
	return ofs_shelf_find_mark(s, scratch->data, scratch->len, err, ret);
}

int ofs_shelf_tag(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		  char ret[OFS_MARK_TAG + 1])
{
	OFS_FREE char *said = ofs_format("messages %s", ref);
	const char *key;
	int r = ofs_access_key(s->access, err, &key);

	if (r == 0)
		ofs_mark_sign(key, said, strlen(said), ret);
	return r;
}

int ofs_shelf_get_text(struct ofs_shelf *s, const char *ref, struct ofs_error *err,
		       struct ofs_buf *ret)
{
	OFS_FREE char *path = ofs_path_join("refs", ref);
	struct ofs_backend *b;
	struct stat st;
	ofs_handle h;
	int r = ofs_access_open(s->access, false, err);

	if (r < 0)
		return r;
	b = s->access->backend;
	r = b->ops->stat(b, path, &st);
	if (r == 0)
		r = b->ops->open(b, path, &h);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read ref %s: %s", ref,
				     r == -EKEYEXPIRED
					     ? "it has expired ('offload show' says what it was)"
					     : strerror(-r));
	ofs_buf_reserve(ret, (size_t)st.st_size);
	r = 0;
	for (uint64_t off = 0; r == 0 && off < (uint64_t)st.st_size;) {
		ssize_t n = b->ops->read(b, h, ret->data + ret->len,
					 (size_t)((uint64_t)st.st_size - off), off);

		r = n < 0 ? (int)n : n == 0 ? -EIO : 0;
		off += n > 0 ? (uint64_t)n : 0;
		ret->len += n > 0 ? (size_t)n : 0;
	}
	b->ops->close(b, h);
	return r < 0 ? ofs_error_set(err, -r, "cannot read ref %s: %s", ref, strerror(-r)) : 0;
}

int ofs_shelf_get(struct ofs_shelf *s, const struct ofs_mark *mark, struct ofs_error *err,
		  struct ofs_buf *ret_string)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	size_t before = ret_string->len;
	char hash[OFS_MARK_HASH + 1];
	int r = ofs_shelf_get_text(s, mark->ref, err, &text);

	if (r < 0)
		return r;
	r = 0;
	if (mark->raw)
		ofs_buf_append(ret_string, text.data, text.len);
	else
		ofs_literal_encode(&mark->style, text.data, text.len, ret_string);
	make_hash(ret_string->data + before, ret_string->len - before, hash);
	if (strcmp(hash, mark->hash) != 0)
		r = ofs_error_set(err, EILSEQ,
				  "the content of ref %s has changed since it was offloaded",
				  mark->ref);
	if (r < 0)
		ret_string->len = before;
	return r;
}
