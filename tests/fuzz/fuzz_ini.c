/* SPDX-License-Identifier: MIT */
/*
 * Settings files: those of a tree, of the context engine, and of the context engine in a store,
 * which may not name a command. Also rules for secrets, in TOML. A refusal is explained on one line
 * with a line number of the file. Whatever is accepted can be written and read again unchanged.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <offloadfs/config.h>

#include "base/alloc.h"
#include "base/text.h"
#include "context/settings.h"
#include "fuzz.h"
#include "io/toml.h"

/* Makes a regular file with the given content. Returns a descriptor, and the path in ret_path. */
static int make_file(const void *data, size_t size, char ret_path[32])
{
	int fd = memfd_create("ini", MFD_CLOEXEC);

	FUZZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(ret_path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_error(int r, const struct ofs_error *err)
{
	FUZZ_ASSERT(r == -EINVAL && err->text[0] && !strchr(err->text, '\n'));
}

static void check_config(const char *path)
{
	struct ofs_config *c = ofs_config_create(), *again = ofs_config_create();
	struct ofs_error err = { "" };
	char other[32];
	int r = ofs_config_load(c, path, &err);

	if (r < 0) {
		check_error(r, &err);
	} else {
		static const char *const names[] = { "redact", "seal_delay", "cache_max" };
		OFS_FREE char *text = ofs_config_format(c);
		OFS_CLOSE int fd = make_file(text, strlen(text), other);

		FUZZ_ASSERT(ofs_config_load(again, other, &err) == 0);
		for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
			FUZZ_ASSERT(ofs_config_get(again, names[i]) == ofs_config_get(c, names[i]));
	}
	ofs_config_destroy(c);
	ofs_config_destroy(again);
}

static void check_settings(const char *path, bool of_store)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s = { 0 };
	struct ofs_error err = { "" };
	int r;

	ofs_settings_init(&s);
	r = ofs_settings_load_file(&s, AT_FDCWD, path, of_store, &err);
	if (r < 0)
		check_error(r, &err);
	FUZZ_ASSERT(!of_store || !s.summarizer);
}

static int check_entry(void *arg, const struct ofs_toml_entry *e, struct ofs_error *err)
{
	FUZZ_ASSERT(e->table && e->line);
	for (size_t i = 0; i < e->n; i++)
		FUZZ_ASSERT(strlen(e->values[i]) <= *(const size_t *)arg * 4);
	return 0;
}

static void check_rules(const uint8_t *data, size_t size)
{
	OFS_FREE char *text = fuzz_copy(data, size);
	struct ofs_error err = { "" };
	int r = ofs_toml_read(text, size, check_entry, &size, &err);

	if (r < 0)
		check_error(r, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32];
	OFS_CLOSE int fd = make_file(data, size, path);

	check_config(path);
	check_settings(path, false);
	check_settings(path, true);
	check_rules(data, size);
	return 0;
}
