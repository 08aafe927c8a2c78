/* SPDX-License-Identifier: MIT */
#include "context/steps/recap_task.h"

#include "base/util.h"
#include "context/steps/recap.h"

static int write_recap(void *arg, const struct ofs_task_step *steps, size_t n, char **ret,
		       size_t *ret_len)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list list = OFS_STEP_LIST_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct ofs_settings *s = arg;
	int r;

	for (size_t i = 0; i < n; i++)
		ofs_step_list_add_file(&list, &steps[i]);
	r = ofs_recap_write(&list, s, &text, NULL);
	if (r < 0)
		return r;
	*ret_len = text.len;
	*ret = (char *)ofs_steal(text.data);
	return 0;
}

struct ofs_tree_recap ofs_recap_for_tree(const struct ofs_settings *s)
{
	return (struct ofs_tree_recap){ .write = write_recap, .arg = (void *)(uintptr_t)s };
}
