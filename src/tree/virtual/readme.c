/* SPDX-License-Identifier: MIT */
/* README.md at the root of the tree: at most 40 lines, written for a language model. */
#include "tree/virtual/readme.h"

#include "tree/core/category.h"
#include "tree/core/tree_state.h"

static const char before[] =
	"# Offloaded content\n"
	"\n"
	"Large tool results live here instead of in your prompt. Every file has a short ref that stays valid when the\n"
	"file is moved. Content is stored once and compressed; read it with ordinary tools.\n"
	"\n"
	"## Read only what you need\n"
	"    cat refs/REF:summary      what it is: type, size, lines, head and tail\n"
	"    cat refs/REF:120-180      lines 120 to 180 (inclusive, counted from 1)\n"
	"    cat refs/REF:120-         from line 120 on       cat refs/REF:-50    the last 50 lines\n"
	"    cat refs/REF:b0-4095      bytes 0 to 4095        cat refs/REF:info   all that is known of it, as JSON\n"
	"    cat 'search/WORD WORD'    best hits first, as PATH:FROM-TO: TEXT; read one with: cat PATH:FROM-TO. All text of\n"
	"        persistent and archive; of others name, title, tags, head, tail. Also \"a phrase\" begin* -without\n"
	"        tier:archive category:C task:T tag:A after:7d before:2026-01-31; write / as %2F. No hits: an empty file.\n"
	"    grep -rn WORD cache tasks persistent archive\n"
	"grep prints PATH:LINE:TEXT. Read around a hit with: cat PATH:FROM-TO. The suffixes work on any path here. A slice\n"
	"that is cut short ends with a line that names the path to continue with.\n"
	"\n"
	"## Where things are\n"
	"    cache/CATEGORY/           working results (search, shell, web, file_read, ...)\n"
	"    tasks/TASK/               results that belong to one task; cat tasks/TASK/context.md: its steps so far (not listed)\n"
	"    persistent/CATEGORY/      kept\n"
	"    archive/CATEGORY/         kept, read-only\n"
	"    refs/REF                  any of these files by ref (not listed)\n"
	"    views/                    links to them: by-category/ by-task/ by-tier/ by-tag/ recent/ expiring/\n"
	"    .offload/status.json      how full the store is\n"
	"What is in cache and tasks goes when it was not used for a while: ";

static const char after[] =
	".\n"
	"Reading renews it. The ref of what is gone says \"Key has expired\"; REF:info then tells what it was.\n"
	"\n"
	"## Keep, store, look up\n"
	"    mv cache/web/FILE persistent/        keep it (refs stay valid)\n"
	"    mv cache/web/FILE archive/           keep it, read-only\n"
	"    COMMAND | offload put -c web         store output, print a pointer to it\n"
	"    offload run -- COMMAND               run it; long output is stored, a pointer is printed\n"
	"    offload show REF                     size, lines, hash, where it is, how long it stays\n"
	"    offload task done TASK               end a task: what it did not keep goes\n"
	"    setfattr -n user.offload.tags -v a,b FILE     then: ls views/by-tag/a\n"
	"    rm FILE                              drop what is not needed\n";

int ofs_readme_write(struct ofs_tree *t, struct ofs_buf *out)
{
	ofs_buf_append_str(out, before);
	ofs_categories_list(t->categories, out);
	ofs_buf_append_str(out, after);
	return 0;
}
