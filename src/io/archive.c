/* SPDX-License-Identifier: MIT */
#include "io/archive.h"

#include "base/util.h"

#if !HAVE_LIBARCHIVE

int ofs_archive_is_possible(struct ofs_error *err)
{
	return ofs_error_set(err, ENOSYS,
			     "this program was built without libarchive, which archives need");
}

int ofs_archive_create(int fd, struct ofs_error *err, struct ofs_archive **ret)
{
	return ofs_archive_is_possible(err);
}

int ofs_archive_open(ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off), void *arg,
		     struct ofs_error *err, struct ofs_archive **ret)
{
	return ofs_archive_is_possible(err);
}

int ofs_archive_put(struct ofs_archive *a, const struct ofs_member *m,
		    const struct ofs_stretch *data, size_t n, struct ofs_error *err)
{
	return -ENOSYS;
}

int ofs_archive_write(struct ofs_archive *a, const void *data, size_t len, struct ofs_error *err)
{
	return -ENOSYS;
}

int ofs_archive_end(struct ofs_archive *a, struct ofs_error *err)
{
	return -ENOSYS;
}

int ofs_archive_next(struct ofs_archive *a, struct ofs_error *err, const struct ofs_member **ret)
{
	return -ENOSYS;
}

int ofs_archive_read(struct ofs_archive *a, struct ofs_error *err, const void **ret_data,
		     size_t *ret_len, uint64_t *ret_off)
{
	return -ENOSYS;
}

void ofs_archive_close(struct ofs_archive *a)
{
}

#else

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"

/* zstd level 12 compresses text much better than the usual 3, and still at 40 MB/s. */
#define ARCHIVE_OPTIONS "zstd:compression-level=12,pax:xattrheader=SCHILY"
#define ARCHIVE_BLOCK ((size_t)128 << 10)

#define ARCHIVE_FUNCTIONS(X)                     \
	X(archive_error_string)                  \
	X(archive_errno)                         \
	X(archive_write_new)                     \
	X(archive_write_add_filter_zstd)         \
	X(archive_write_set_format_pax)          \
	X(archive_write_set_options)             \
	X(archive_write_set_bytes_in_last_block) \
	X(archive_write_open_fd)                 \
	X(archive_write_header)                  \
	X(archive_write_data)                    \
	X(archive_write_close)                   \
	X(archive_write_free)                    \
	X(archive_read_new)                      \
	X(archive_read_support_filter_zstd)      \
	X(archive_read_support_format_tar)       \
	X(archive_read_open)                     \
	X(archive_read_next_header)              \
	X(archive_read_data_block)               \
	X(archive_read_free)                     \
	X(archive_entry_new)                     \
	X(archive_entry_clear)                   \
	X(archive_entry_free)                    \
	X(archive_entry_set_pathname)            \
	X(archive_entry_set_symlink)             \
	X(archive_entry_set_hardlink)            \
	X(archive_entry_set_mode)                \
	X(archive_entry_set_mtime)               \
	X(archive_entry_set_size)                \
	X(archive_entry_xattr_add_entry)         \
	X(archive_entry_sparse_add_entry)        \
	X(archive_entry_pathname)                \
	X(archive_entry_symlink)                 \
	X(archive_entry_hardlink)                \
	X(archive_entry_mode)                    \
	X(archive_entry_mtime)                   \
	X(archive_entry_mtime_nsec)              \
	X(archive_entry_size)                    \
	X(archive_entry_xattr_reset)             \
	X(archive_entry_xattr_next)

static struct {
	bool found;
#define POINTER(name) __typeof__(name) *name##_;
	ARCHIVE_FUNCTIONS(POINTER)
} lib;

/* The ABI has been stable since 2013. */
static void lib_load(void)
{
	void *handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
	lib.found = true;
#define LOOK_UP(name)                                  \
	*(void **)&lib.name##_ = dlsym(handle, #name); \
	lib.found = lib.found && lib.name##_;
	ARCHIVE_FUNCTIONS(LOOK_UP)
}

int ofs_archive_is_possible(struct ofs_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, lib_load);
	return lib.found ? 0
			 : ofs_error_set(err, ENOSYS,
					 "libarchive cannot be loaded, which archives need; "
					 "install libarchive13");
}

struct ofs_archive {
	struct archive *lib;
	struct archive_entry *entry; /* writers only */
	bool writes;
	/* Writers only. UTF-8 names are written as such, and so need a locale with UTF-8. */
	locale_t utf8;

	ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off);
	void *arg;
	uint64_t off;
	int error; /* errno of a failed read() */
	struct ofs_member member;
	char block[ARCHIVE_BLOCK];
};

void ofs_archive_close(struct ofs_archive *a)
{
	if (!a)
		return;
	if (a->entry)
		lib.archive_entry_free_(a->entry);
	if (a->lib && a->writes)
		lib.archive_write_free_(a->lib);
	else if (a->lib)
		lib.archive_read_free_(a->lib);
	if (a->utf8)
		freelocale(a->utf8);
	ofs_buf_finish(&a->member.xattrs);
	free(a);
}

/* ---- writing */

static int write_failed(struct ofs_archive *a, struct ofs_error *err)
{
	const char *why = lib.archive_error_string_(a->lib);
	int code = lib.archive_errno_(a->lib);

	return ofs_error_set(err, code > 0 ? code : EIO, "cannot write the archive: %s",
			     why ? why : "libarchive gives no reason");
}

int ofs_archive_create(int fd, struct ofs_error *err, struct ofs_archive **ret)
{
	struct ofs_archive *a;
	int r = ofs_archive_is_possible(err);

	if (r < 0)
		return r;
	a = ofs_alloc(sizeof(*a));
	a->writes = true;
	a->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	a->entry = lib.archive_entry_new_();
	a->lib = lib.archive_write_new_();
	if (!a->lib || !a->entry)
		abort();
	if (lib.archive_write_add_filter_zstd_(a->lib) != ARCHIVE_OK ||
	    lib.archive_write_set_format_pax_(a->lib) != ARCHIVE_OK ||
	    lib.archive_write_set_options_(a->lib, ARCHIVE_OPTIONS) != ARCHIVE_OK ||
	    lib.archive_write_set_bytes_in_last_block_(a->lib, 1) != ARCHIVE_OK ||
	    lib.archive_write_open_fd_(a->lib, fd) != ARCHIVE_OK) {
		r = write_failed(a, err);
		ofs_archive_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

static void describe(struct archive_entry *e, const struct ofs_member *m)
{
	static const mode_t types[] = { [OFS_MEMBER_FILE] = S_IFREG,
					[OFS_MEMBER_DIR] = S_IFDIR,
					[OFS_MEMBER_SYMLINK] = S_IFLNK,
					[OFS_MEMBER_LINK] = S_IFREG };
	int64_t seconds = ofs_seconds(m->mtime);
	struct ofs_xattr x;
	size_t at = 0;

	lib.archive_entry_clear_(e);
	lib.archive_entry_set_pathname_(e, m->path);
	lib.archive_entry_set_mode_(e, types[m->kind] | m->mode);
	lib.archive_entry_set_mtime_(e, seconds, (long)(m->mtime - seconds * OFS_NS_PER_S));
	if (m->kind == OFS_MEMBER_FILE)
		lib.archive_entry_set_size_(e, (la_int64_t)m->size);
	else if (m->kind == OFS_MEMBER_SYMLINK)
		lib.archive_entry_set_symlink_(e, m->target);
	else if (m->kind == OFS_MEMBER_LINK)
		lib.archive_entry_set_hardlink_(e, m->target);
	while (ofs_xattr_next(&m->xattrs, &at, &x)) {
		char name[OFS_XATTR_NAME_MAX + 1];

		memcpy(name, x.name, x.name_len);
		name[x.name_len] = '\0';
		lib.archive_entry_xattr_add_entry_(e, name, x.value, x.size);
	}
}

int ofs_archive_put(struct ofs_archive *a, const struct ofs_member *m,
		    const struct ofs_stretch *data, size_t n, struct ofs_error *err)
{
	locale_t before = a->utf8 ? uselocale(a->utf8) : (locale_t)0;
	int r;

	describe(a->entry, m);
	for (size_t i = 0; i < n; i++)
		lib.archive_entry_sparse_add_entry_(a->entry, (la_int64_t)data[i].off,
						    (la_int64_t)data[i].len);
	r = lib.archive_write_header_(a->lib, a->entry);
	if (before)
		uselocale(before);
	/* ARCHIVE_WARN: a name that is not UTF-8 was written as plain bytes. */
	return r < ARCHIVE_WARN ? write_failed(a, err) : 0;
}

int ofs_archive_write(struct ofs_archive *a, const void *data, size_t len, struct ofs_error *err)
{
	while (len) {
		la_ssize_t n = lib.archive_write_data_(a->lib, data, len);

		if (n <= 0)
			return write_failed(a, err);
		data = (const char *)data + n;
		len -= (size_t)n;
	}
	return 0;
}

int ofs_archive_end(struct ofs_archive *a, struct ofs_error *err)
{
	return lib.archive_write_close_(a->lib) == ARCHIVE_OK ? 0 : write_failed(a, err);
}

/* ---- reading */

static int read_failed(struct ofs_archive *a, struct ofs_error *err)
{
	const char *why = lib.archive_error_string_(a->lib);

	if (a->error)
		return ofs_error_set(err, a->error, "cannot read the archive: %s",
				     strerror(a->error));
	return ofs_error_set(err, EBADMSG, "cannot read the archive: %s",
			     why ? why : "it is damaged");
}

static la_ssize_t read_block(struct archive *unused, void *arg, const void **ret)
{
	struct ofs_archive *a = arg;
	ssize_t n = a->read(a->arg, a->block, sizeof(a->block), a->off);

	(void)unused;
	if (n < 0) {
		a->error = (int)-n;
		return -1;
	}
	a->off += (uint64_t)n;
	*ret = a->block;
	return n;
}

int ofs_archive_open(ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off), void *arg,
		     struct ofs_error *err, struct ofs_archive **ret)
{
	struct ofs_archive *a;
	int r = ofs_archive_is_possible(err);

	if (r < 0)
		return r;
	a = ofs_alloc(sizeof(*a));
	a->read = read;
	a->arg = arg;
	a->lib = lib.archive_read_new_();
	if (!a->lib)
		abort();
	if (lib.archive_read_support_filter_zstd_(a->lib) != ARCHIVE_OK ||
	    lib.archive_read_support_format_tar_(a->lib) != ARCHIVE_OK ||
	    lib.archive_read_open_(a->lib, a, NULL, read_block, NULL) != ARCHIVE_OK) {
		r = read_failed(a, err);
		ofs_archive_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

/* Copies the attributes, except those that exceed the limits of an inode. */
static void take_xattrs(struct ofs_member *m, struct archive_entry *e)
{
	const char *name;
	const void *value;
	size_t size;

	m->xattrs.len = 0;
	lib.archive_entry_xattr_reset_(e);
	while (lib.archive_entry_xattr_next_(e, &name, &value, &size) == ARCHIVE_OK) {
		size_t len = name ? strlen(name) : 0;

		if (len && len <= OFS_XATTR_NAME_MAX && size <= OFS_XATTR_VALUE_MAX &&
		    ofs_xattr_room(&m->xattrs) + len + size <= OFS_XATTR_ROOM)
			ofs_xattr_set(&m->xattrs, name, value, size);
	}
}

static void take_kind(struct ofs_member *m, struct archive_entry *e)
{
	mode_t mode = lib.archive_entry_mode_(e);

	m->target = lib.archive_entry_hardlink_(e);
	m->kind = OFS_MEMBER_LINK;
	if (m->target)
		return;
	m->target = S_ISLNK(mode) ? lib.archive_entry_symlink_(e) : NULL;
	m->kind = S_ISREG(mode)	  ? OFS_MEMBER_FILE
		  : S_ISDIR(mode) ? OFS_MEMBER_DIR
		  : m->target	  ? OFS_MEMBER_SYMLINK
				  : OFS_MEMBER_OTHER;
}

int ofs_archive_next(struct ofs_archive *a, struct ofs_error *err, const struct ofs_member **ret)
{
	struct ofs_member *m = &a->member;
	struct archive_entry *e;
	int r = lib.archive_read_next_header_(a->lib, &e);
	int64_t seconds;

	if (r == ARCHIVE_EOF)
		return 0;
	/* ARCHIVE_WARN: a name is invalid in the locale and is given as plain bytes. */
	if (r < ARCHIVE_WARN)
		return read_failed(a, err);
	m->path = lib.archive_entry_pathname_(e);
	if (!m->path)
		return ofs_error_set(err, EBADMSG, "the archive has a member without a name");
	take_kind(m, e);
	m->mode = lib.archive_entry_mode_(e) & (S_IRWXU | S_IRWXG | S_IRWXO);
	seconds = lib.archive_entry_mtime_(e);
	/* Clamps the time to what fits in nanoseconds (the year 2262). */
	seconds = OFS_MIN(OFS_MAX(seconds, -INT64_MAX / OFS_NS_PER_S + 1),
			  INT64_MAX / OFS_NS_PER_S - 1);
	m->mtime = seconds * OFS_NS_PER_S + lib.archive_entry_mtime_nsec_(e) % OFS_NS_PER_S;
	m->size = (uint64_t)OFS_MAX(lib.archive_entry_size_(e), (la_int64_t)0);
	take_xattrs(m, e);
	*ret = m;
	return 1;
}

int ofs_archive_read(struct ofs_archive *a, struct ofs_error *err, const void **ret_data,
		     size_t *ret_len, uint64_t *ret_off)
{
	la_int64_t off;
	int r;

	do
		r = lib.archive_read_data_block_(a->lib, ret_data, ret_len, &off);
	while (r == ARCHIVE_OK && !*ret_len);
	if (r == ARCHIVE_EOF)
		return 0;
	if (r != ARCHIVE_OK || off < 0)
		return read_failed(a, err);
	*ret_off = (uint64_t)off;
	return 1;
}

#endif
