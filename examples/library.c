/* SPDX-License-Identifier: MIT */
/*
 * Calls the library's `offload context`: reads a request from standard input and writes the answer.
 *
 *	cc library.c -o library $(pkg-config --cflags --libs liboffloadfs)
 *	./library .offload < request.json
 */
#include <stdio.h>
#include <stdlib.h>

#include <offloadfs/context.h>

/* Returns all of standard input, to be freed by the caller, or NULL if memory runs out. */
static char *read_all(size_t *ret_len)
{
	size_t len = 0, cap = 1 << 16, n;
	char *text = malloc(cap), *more;

	while (text && (n = fread(text + len, 1, cap - len, stdin)) > 0) {
		len += n;
		if (len < cap)
			continue;
		more = realloc(text, cap *= 2);
		if (!more)
			free(text);
		text = more;
	}
	*ret_len = len;
	return text;
}

int main(int argc, char **argv)
{
	struct ofs_context *context;
	struct ofs_error err;
	char *request, *answer;
	size_t len, answer_len;
	int r;

	request = read_all(&len);
	if (!request || ofs_context_open(argc > 1 ? argv[1] : NULL, &err, &context) < 0) {
		fprintf(stderr, "library: %s\n", request ? err.text : "out of memory");
		free(request);
		return 1;
	}
	r = ofs_context_manage(context, request, len, &err, &answer, &answer_len);
	if (r == 0) {
		fwrite(answer, 1, answer_len, stdout);
		free(answer);
	} else {
		fprintf(stderr, "library: %s\n", err.text);
	}
	ofs_context_close(context);
	free(request);
	return r < 0;
}
