/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target on the files of its corpus, in builds without libFuzzer. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fuzz.h"

static void run_file(const char *directory, const char *name)
{
	OFS_FREE uint8_t *data = NULL;
	OFS_FREE char *path = NULL;
	OFS_CLOSE int fd = -1;
	struct stat st;

	printf("# %s\n", name);
	fflush(stdout);
	FUZZ_ASSERT(asprintf(&path, "%s/%s", directory, name) > 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	FUZZ_ASSERT(fd >= 0 && fstat(fd, &st) == 0);
	data = fuzz_alloc((size_t)st.st_size);
	FUZZ_ASSERT(read(fd, data, (size_t)st.st_size) == st.st_size);
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **names = NULL;
	int n = argc == 2 ? scandir(argv[1], &names, is_input, alphasort) : -1;

	if (n <= 0) {
		fprintf(stderr, "usage: %s DIRECTORY-WITH-INPUTS\n", argv[0]);
		return 2;
	}
	printf("TAP version 13\n1..1\n");
	for (int i = 0; i < n; i++) {
		run_file(argv[1], names[i]->d_name);
		free(names[i]);
	}
	free(names);
	printf("ok 1 - %d inputs\n", n);
	return 0;
}
