/* SPDX-License-Identifier: MIT */
/* What tools do, judged by their names. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/tool.h"

static void expect_rule(const char *names, enum ofs_tool_rule expected)
{
	OFS_FREE char *copy = ofs_strdup(names);
	char *rest = copy, *name;

	while ((name = strsep(&rest, " ")))
		cr_expect_str_eq(ofs_tool_name(ofs_tool_rule(name)), ofs_tool_name(expected), "%s",
				 name);
}

Test(context_tool, canonical_names)
{
	for (int i = 0; i < OFS_TOOL_COUNT; i++) {
		cr_expect_eq(ofs_tool_rule(ofs_tool_name(i)), i);
		cr_expect_eq(ofs_tool_by_name(ofs_tool_name(i)), i);
	}
	cr_expect_eq(ofs_tool_by_name(NULL), OFS_TOOL_OTHER);
	cr_expect_eq(ofs_tool_by_name("Read"), OFS_TOOL_OTHER);
}

Test(context_tool, claude_code)
{
	expect_rule("Read NotebookRead", OFS_TOOL_READ);
	expect_rule("Write Edit MultiEdit NotebookEdit", OFS_TOOL_WRITE);
	expect_rule("LS Glob", OFS_TOOL_LIST);
	expect_rule("Grep", OFS_TOOL_GREP);
	expect_rule("WebSearch", OFS_TOOL_SEARCH);
	expect_rule("WebFetch", OFS_TOOL_VISIT);
	expect_rule("Bash BashOutput", OFS_TOOL_SHELL);
	expect_rule("Task TodoWrite ExitPlanMode KillShell SlashCommand", OFS_TOOL_OTHER);
	expect_rule("bash_20250124", OFS_TOOL_SHELL);
	expect_rule("web_search_20250305", OFS_TOOL_SEARCH);
	expect_rule("text_editor_20250728", OFS_TOOL_WRITE);
}

Test(context_tool, openai_and_codex)
{
	expect_rule(
		"shell local_shell local_shell_call container.exec functions.shell exec_command "
		"code_interpreter unified_exec",
		OFS_TOOL_SHELL);
	expect_rule("apply_patch functions.apply_patch", OFS_TOOL_WRITE);
	expect_rule("web_search web_search_preview web_search_call browser.search",
		    OFS_TOOL_SEARCH);
	expect_rule("browser.open", OFS_TOOL_VISIT);
	expect_rule("update_plan computer_use", OFS_TOOL_OTHER);
}

Test(context_tool, swe_agent_and_openhands)
{
	expect_rule("open goto scroll_down scroll_up cat set_cursors", OFS_TOOL_READ);
	expect_rule("create edit insert str_replace_editor str_replace_based_edit_tool",
		    OFS_TOOL_WRITE);
	expect_rule("ls find_file", OFS_TOOL_LIST);
	expect_rule("search_dir search_file", OFS_TOOL_GREP);
	expect_rule("python bash execute_bash execute_ipython_cell CmdRunAction", OFS_TOOL_SHELL);
	expect_rule("FileReadAction", OFS_TOOL_READ);
	expect_rule("FileEditAction", OFS_TOOL_WRITE);
	expect_rule("BrowseURLAction", OFS_TOOL_VISIT);
	expect_rule("submit think finish exit_cost", OFS_TOOL_OTHER);
}

Test(context_tool, others)
{
	expect_rule("mcp__filesystem__read_text_file mcp_fs_v2.ReadFile ReadFileTool file:read "
		    "filesystem/read_file cursor.read_file readFile READ-FILE Read_File_v2",
		    OFS_TOOL_READ);
	expect_rule("write_to_file replace_in_file search_replace edit_file fs.write",
		    OFS_TOOL_WRITE);
	expect_rule("list_dir list_files mcp__fs__list_directory directory_tree file_search",
		    OFS_TOOL_LIST);
	expect_rule("grep_search codebase_search search_files search_file_content", OFS_TOOL_GREP);
	expect_rule(
		"DuckDuckGoSearch duckduckgo_search tavily_search_results_json google_web_search "
		"mcp__brave__brave_web_search Search serper",
		OFS_TOOL_SEARCH);
	expect_rule(
		"browser_navigate mcp__playwright__browser_navigate fetch mcp__fetch__fetch_url "
		"scrape_webpage go_to_url visit_webpage",
		OFS_TOOL_VISIT);
	expect_rule("run_terminal_cmd runInTerminal run_shell_command execute_command terminal "
		    "python_repl_ast system:exec sh",
		    OFS_TOOL_SHELL);
}

/* A name that merely contains such a word means something else. */
Test(context_tool, no_tool_that_is_known)
{
	expect_rule(
		"search_direct_flight list_all_airports mcp__jira__search slack.search gmail:read "
		"get_user_details calculate transfer_to_human_agents update_record readiness "
		"editor_settings shellfish crm.create mcp__linear__edit catalog",
		OFS_TOOL_OTHER);
	expect_rule("_ __ : :: . / \xff\xfe \xe8\xaf\xbb", OFS_TOOL_OTHER);
	cr_expect_eq(ofs_tool_rule(""), OFS_TOOL_OTHER);
	cr_expect_eq(ofs_tool_rule(" read file "), OFS_TOOL_READ);
}

Test(context_tool, a_name_of_any_length)
{
	OFS_FREE char *name = ofs_alloc(100001);

	memset(name, '_', 100000);
	cr_expect_eq(ofs_tool_rule(name), OFS_TOOL_OTHER);
	memset(name, 'a', 100000);
	cr_expect_eq(ofs_tool_rule(name), OFS_TOOL_OTHER);
}

/* ---- sections */

static char *text(const char *s)
{
	return ofs_strdup(s);
}

static void begin(struct ofs_settings *s, size_t n)
{
	ofs_settings_init(s);
	s->tools = ofs_alloc(n * sizeof(*s->tools));
	s->n_tools = n;
}

Test(context_tool, sections)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s;
	enum ofs_tool_rule rule;

	begin(&s, 4);
	s.tools[0].name = text("acme:query-db");
	s.tools[0].like = text("web:search");
	s.tools[1].name = text("system:shell");
	s.tools[2].name = text("Bash");
	s.tools[3].name = text("bash");
	cr_expect_eq(ofs_tool_setting(&s, "acmeQueryDB", &rule), &s.tools[0]);
	cr_expect_eq(rule, OFS_TOOL_SEARCH);
	cr_expect_eq(ofs_tool_setting(&s, "mcp__acme__query_db", &rule), &s.tools[0]);
	/*
	 * A section for the tool itself wins over one for its kind, and the last of two over the
	 * first.
	 */
	cr_expect_eq(ofs_tool_setting(&s, "Bash", &rule), &s.tools[3]);
	cr_expect_eq(rule, OFS_TOOL_SHELL);
	cr_expect_eq(ofs_tool_setting(&s, "execute_bash", &rule), &s.tools[1]);
	cr_expect_null(ofs_tool_setting(&s, "Read", &rule));
	cr_expect_eq(rule, OFS_TOOL_READ);
	cr_expect_null(ofs_tool_setting(&s, "else", &rule));
	cr_expect_eq(rule, OFS_TOOL_OTHER);
}
