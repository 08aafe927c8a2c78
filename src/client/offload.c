/* SPDX-License-Identifier: MIT */
#include "client/offload.h"

#include "base/text.h"

void ofs_offloaded_finish(struct ofs_offloaded *o)
{
	ofs_deposited_finish(&o->file);
	free(o->display);
	free(o->pointer);
	*o = (struct ofs_offloaded){ 0 };
}

int ofs_offload(const struct ofs_offload_request *request, const struct ofs_content *content,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	struct ofs_pointer pointer = {
		.what = request->what,
		.has_exit = request->has_exit,
		.exit_code = request->exit_code,
		.signal = request->signal,
		.content = content,
	};
	OFS_FREE char *mark = NULL;
	struct ofs_text_stream text;
	int r = ofs_access_open(access, true, err);

	if (r == 0)
		r = ofs_deposit_store(request->deposit, content, access->backend, err, &done.file);
	if (r == 0 && request->mark)
		r = request->mark(request->mark_arg, done.file.ref, err, &mark);
	if (r < 0)
		return r;
	done.display = ofs_access_display(access, done.file.path);
	pointer.path = done.file.path;
	pointer.ref = done.file.ref;
	pointer.mount = access->mount;
	pointer.mark = mark;
	pointer.hint = access->target.hint;
	r = ofs_pointer_print(&pointer, ofs_text_open(&text));
	done.pointer = ofs_text_close(&text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the pointer: %s", strerror(-r));
	*ret = ofs_steal(done);
	return 0;
}
