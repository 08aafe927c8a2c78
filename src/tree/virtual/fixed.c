/* SPDX-License-Identifier: MIT */
/* The virtual files and directories that always exist. */
#include "tree/virtual/nodes.h"

#include "tree/core/category.h"
#include "tree/core/root.h"
#include "tree/core/stat.h"
#include "tree/virtual/view.h"

struct fixed {
	ofs_node node; /* number in the tree at the store's root */
	ofs_node parent;
	const char *name;
	/* Appends the content of a file; NULL: a directory. */
	int (*text)(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
	bool fresh; /* content changes by itself, so each lookup makes a node with fixed content */
};

/* Only for the tree at the store's root: the settings name files of the store's owner. */
static int config_text(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	ofs_buf_append_str(out, t->config && !root->above ? t->config : "");
	return 0;
}

/* ---- README.md: at most 40 lines, written for a language model */

static const char readme_before[] =
	"# Offloaded content\n"
	"\n"
	"Large tool results live here instead of in your prompt. Every file has a short ref that stays valid when the\n"
	"file is moved. Content is stored once and compressed; read it with ordinary tools.\n"
	"\n"
	"## Read only what you need\n"
	"    cat refs/REF:summary      what it is: type, size, lines, head and tail\n"
	"    cat refs/REF:120-180      lines 120 to 180 (inclusive, counted from 1)\n"
	"    cat refs/REF:120-         from line 120 on       cat refs/REF:-50    the last 50 lines\n"
	"    cat refs/REF:b0-4095      bytes 0 to 4095        cat refs/REF:info   all about it, as JSON\n"
	"    cat 'search/WORD WORD'    best hits first, as PATH:FROM-TO: TEXT; read one with: cat PATH:FROM-TO. Ask in plain\n"
	"        words; not all need occur. Also \"a phrase\" begin* +must -without tier:archive category:C task:T tag:A\n"
	"        agent:A after:7d before:2026-01-31; write / as %2F. No hits: an empty file.\n"
	"    grep -rn WORD cache tasks persistent archive\n"
	"grep prints PATH:LINE:TEXT. Read around a hit with: cat PATH:FROM-TO. The suffixes work on any path here. A slice\n"
	"that is cut short ends with a line that names the path to continue with.\n"
	"\n"
	"## Where things are\n"
	"    cache/CATEGORY/           working results (search, shell, web, file_read, ...)\n"
	"    tasks/TASK/               results that belong to one task; cat tasks/TASK/context.md: its steps so far (not listed)\n"
	"    persistent/CATEGORY/      kept\n"
	"    archive/CATEGORY/         kept, read-only\n"
	"    agents/AGENT/             a whole tree like this one for a subagent, who sees nothing else; mv takes results out\n"
	"    refs/REF                  any of these files by ref (not listed)\n"
	"    views/                    links to them: by-category/ by-task/ by-tier/ by-tag/ recent/ expiring/\n"
	"    .offload/status.json      how full the store is; .offload/log: what became of each file\n"
	"In a workspace ls, find and grep -r from above leave out cache, tasks, agents and .offload; name them: ls cache\n"
	"Files in cache and tasks stay for a time after their last use: ";

static const char readme_after[] =
	".\n"
	"Then they are removed when room is short, or some days later (offload show REF says when); not while anything of their\n"
	"task is used. Reading renews them. The ref of a removed file says \"Key has expired\"; REF:info says what it was.\n"
	"\n"
	"## Keep, store, look up\n"
	"    mv cache/web/FILE persistent/        keep it (refs stay valid; views/by-task/ still has it)\n"
	"    mv cache/web/FILE archive/           keep it, read-only\n"
	"    COMMAND | offload put -c web         store output, print a pointer to it\n"
	"    offload run -- COMMAND               run it; long output is stored, a pointer is printed\n"
	"    offload show REF                     size, lines, hash, where it is, how long it stays; offload list: all files\n"
	"    offload task done TASK --keep '*.md' end a task: keep reports, pinned files and what matches, drop the rest\n"
	"    setfattr -n user.offload.tags -v a,b FILE     then: ls views/by-tag/a\n"
	"    rm FILE                              drop what is not needed\n";

static int readme_text(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	ofs_buf_append_str(out, readme_before);
	ofs_categories_list(t->categories, out);
	ofs_buf_append_str(out, readme_after);
	return 0;
}

/* ---- the table */

/* In the order of listing; the index is the position in it. */
static const struct fixed all[] = {
	{ OFS_NODE_REFS, OFS_NODE_ROOT, "refs", NULL, false },
	{ OFS_NODE_README, OFS_NODE_ROOT, "README.md", readme_text, false },
	{ OFS_NODE_VIEWS, OFS_NODE_ROOT, "views", NULL, false },
	{ OFS_NODE_SEARCH, OFS_NODE_ROOT, "search", NULL, false },
	{ OFS_NODE_OFFLOAD, OFS_NODE_ROOT, ".offload", NULL, false },
	{ OFS_NODE_STATUS, OFS_NODE_OFFLOAD, "status.json", ofs_status_write_status, true },
	{ OFS_NODE_METRICS, OFS_NODE_OFFLOAD, "metrics", ofs_status_write_metrics, true },
	{ OFS_NODE_CONFIG, OFS_NODE_OFFLOAD, "config.ini", config_text, false },
	{ OFS_NODE_LEDGER, OFS_NODE_OFFLOAD, "ledger", ofs_ledger_file_write, true },
	{ OFS_NODE_LOG, OFS_NODE_OFFLOAD, "log", ofs_log_file_write, true },
	{ OFS_NODE_LIST, OFS_NODE_OFFLOAD, "list", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_CATEGORY), OFS_NODE_VIEWS, "by-category", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_TASK), OFS_NODE_VIEWS, "by-task", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_TIER), OFS_NODE_VIEWS, "by-tier", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_TAG), OFS_NODE_VIEWS, "by-tag", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_RECENT), OFS_NODE_VIEWS, "recent", NULL, false },
	{ OFS_NODE_VIEW(OFS_VIEW_EXPIRING), OFS_NODE_VIEWS, "expiring", NULL, false },
};

/* NULL: the node is not fixed, or its tree is gone. */
static const struct fixed *find_node(struct ofs_tree *t, ofs_node node, struct ofs_root **ret_root)
{
	ofs_node kind = ofs_node_kind(node);

	*ret_root = kind ? ofs_root_of_node(t, node) : NULL;
	for (size_t i = 0; *ret_root && i < OFS_ARRAY_SIZE(all); i++)
		if (all[i].node == kind)
			return &all[i];
	return NULL;
}

static const struct fixed *find_name(struct ofs_tree *t, ofs_node parent, const char *name,
				     struct ofs_root **ret_root)
{
	ofs_node kind = ofs_node_kind(parent);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++) {
		const struct fixed *f = &all[i];

		if (strcmp(f->name, name) != 0 || (kind && kind != f->parent) ||
		    (!kind && f->parent != OFS_NODE_ROOT))
			continue;
		*ret_root = kind ? ofs_root_of_node(t, parent) : ofs_root_at(t, parent);
		return *ret_root ? f : NULL;
	}
	return NULL;
}

static int fill_attr(struct ofs_tree *t, const struct fixed *f, struct ofs_root *root,
		     struct ofs_attr *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = 0;

	ofs_stat_make_up(t, root, ofs_root_node(root, f->node),
			 f->text ? S_IFREG | 0444 : S_IFDIR | 0555, ret);
	/* For the owner only: these name the owner's files and count those of others. */
	if (f->parent == OFS_NODE_OFFLOAD)
		ret->mode = S_IFREG | 0400;
	if (f->node == OFS_NODE_SEARCH || f->node == OFS_NODE_LIST)
		ret->mode = S_IFDIR | OFS_VIEW_MODE;
	if (f->text && !f->fresh) {
		r = f->text(t, root, &text);
		ret->size = text.len;
	}
	if (ofs_view_is_dir(t, ret->ino)) {
		ofs_view_set_times(root, ret);
		ret->mode = S_IFDIR | OFS_VIEW_MODE;
	}
	return r;
}

int ofs_fixed_attr(struct ofs_tree *t, ofs_node node, struct ofs_attr *ret)
{
	struct ofs_root *root;
	const struct fixed *f = find_node(t, node, &root);

	return f ? fill_attr(t, f, root, ret) : -ESTALE;
}

int ofs_fixed_text(struct ofs_tree *t, ofs_node node, struct ofs_buf *out)
{
	struct ofs_root *root;
	const struct fixed *f = find_node(t, node, &root);

	if (!f)
		return -ESTALE;
	return f->text ? f->text(t, root, out) : -EISDIR;
}

ofs_node ofs_fixed_parent(struct ofs_tree *t, ofs_node node)
{
	struct ofs_root *root;
	const struct fixed *f = find_node(t, node, &root);

	if (!f)
		return 0;
	return f->parent == OFS_NODE_ROOT ? root->ino : ofs_root_node(root, f->parent);
}

int ofs_fixed_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_root *root;
	const struct fixed *f = find_name(t, parent, name, &root);
	struct ofs_attr attr;
	int r;

	if (!f)
		return ofs_log_file_lookup(t, parent, name, ret);
	r = fill_attr(t, f, root, &attr);
	if (r == 0 && f->fresh)
		r = f->text(t, root, &text);
	if (r < 0)
		return r;
	if (f->fresh) {
		ofs_made_text(t, parent, name, &attr, &text, ret);
		return 0;
	}
	ofs_stat_fill_entry(&attr, true, ret);
	ret->keep_attr = !ofs_view_is_dir(t, attr.ino);
	return 0;
}

int ofs_fixed_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, ofs_readdir_fn fn, void *arg)
{
	ofs_node kind = ofs_node_kind(dir);
	struct ofs_root *root = kind ? ofs_root_of_node(t, dir) : ofs_root_at(t, dir);

	if (!kind)
		kind = OFS_NODE_ROOT;
	for (size_t i = 0; root && i < OFS_ARRAY_SIZE(all); i++) {
		const struct fixed *f = &all[i];
		struct ofs_entry entry = { 0 };

		if (f->parent != kind || cookie >= OFS_COOKIE_FIXED + i ||
		    f->node == OFS_NODE_LIST || (f->node == OFS_NODE_OFFLOAD && t->hide_working))
			continue;
		/* Listed without a reference; whoever needs one looks the name up. */
		entry.attr.st_ino = ofs_root_node(root, f->node);
		entry.attr.st_mode = f->text ? S_IFREG : S_IFDIR;
		if (fn(arg, f->name, &entry, OFS_COOKIE_FIXED + i))
			return 1;
	}
	return 0;
}

bool ofs_fixed_is_reserved(struct ofs_tree *t, ofs_node parent, const char *name)
{
	struct ofs_root *root;

	return !ofs_node_is_virtual(parent) && find_name(t, parent, name, &root);
}
