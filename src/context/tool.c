/* SPDX-License-Identifier: MIT */
#include "context/tool.h"

#include <ctype.h>

#include "context/json/args.h"

static const char *const canonical[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = "other",
	[OFS_TOOL_READ] = "fs:read_file",
	[OFS_TOOL_WRITE] = "fs:write_file",
	[OFS_TOOL_LIST] = "fs:list_dir",
	[OFS_TOOL_GREP] = "fs:grep",
	[OFS_TOOL_SEARCH] = "web:search",
	[OFS_TOOL_VISIT] = "browser:navigate",
	[OFS_TOOL_SHELL] = "system:shell",
};

/* Names with the same meaning after any prefix; in lower case, without separators. */
static const char *const sure[OFS_TOOL_COUNT] = {
	[OFS_TOOL_READ] =
		"readfile readtextfile readmediafile readmultiplefiles readmanyfiles readfiles "
		"readfilecontent readfilecontents readfilelines readlines readfromfile fsread "
		"fileread viewfile fileview fileviewer openfile getfilecontent getfilecontents "
		"loadfile showfile displayfile notebookread readnotebook scrolldown scrollup "
		"setcursors viewimage gotoline viewcode cat fsopen fsview",
	[OFS_TOOL_WRITE] =
		"writefile writetofile writecode filewrite fswrite savefile createfile "
		"createnewfile appendfile appendtofile overwritefile updatefile modifyfile "
		"editfile fileedit fsedit fscreate editnotebook notebookedit multiedit "
		"multieditfile strreplace strreplaceeditor strreplacebasededit texteditor "
		"strreplaceinfile applypatch applydiff patchfile replaceinfile replacefilecontent "
		"multireplacefilecontent searchandreplace searchreplace insertcontent "
		"insertlines undoedit",
	[OFS_TOOL_LIST] =
		"ls listdir listdirectory listdirectories listfiles listallfiles listfolder "
		"listfiledirectory listdirectorywithsizes directorytree filelist fslist fsls "
		"readdir readdirectory readfolder viewfolder filetree tree glob globfiles "
		"globsearch globfilesearch findfile findfiles findbyname filesearch fsfind "
		"fsglob searchfilesbyname",
	[OFS_TOOL_GREP] =
		"grep rg ripgrep grepsearch ripgrepsearch grepfiles grepcode searchdir "
		"searchdirectory searchfile searchfiles searchfilecontent searchfilecontents "
		"searchcode codesearch searchcodebase codebasesearch searchtext textsearch "
		"findinfiles searchinfiles contentsearch searchforpattern semanticsearch "
		"fsgrep fssearch filegrep",
	[OFS_TOOL_SEARCH] =
		"websearch searchweb searchtheweb webquery websearchpreview websearchcall "
		"internetsearch searchinternet onlinesearch googlesearch searchgoogle "
		"googlewebsearch googleserper serper serpersearch serpapi serpsearch bingsearch "
		"duckduckgosearch duckduckgoresults duckduckgoresultsjson ddgsearch ddgs "
		"bravesearch bravewebsearch bravenewssearch newssearch tavily tavilysearch "
		"tavilysearchresults tavilysearchresultsjson exasearch websearchexa searxng "
		"searxngsearch searxsearch searxsearchresults perplexitysearch firecrawlsearch "
		"jinasearch kagisearch yahoosearch browsersearch webbrowsersearch",
	[OFS_TOOL_VISIT] =
		"navigate browsernavigate puppeteernavigate playwrightnavigate visitpage "
		"visitwebpage visiturl visitwebsite webfetch webfetchcall fetchurl "
		"fetchwebpage fetchpage fetchwebsite urlfetch browseurl browseweb webbrowse "
		"webbrowser browsepage browseinteractive browseropen webopen webget webread "
		"openurl openpage openwebpage gotourl browsergotourl getpage getwebpage geturl "
		"geturlcontent readurl readurlcontent readwebpage readwebsite "
		"readwebsitecontent readpage urlread jinareader scrape scrapeurl scrapepage "
		"scrapewebpage scrapewebsite webscrape webscraper firecrawlscrape "
		"firecrawlscrapeurl tavilyextract crawlurl crawlpage loadurl loadwebpage "
		"requestsget httpget viewtextwebsite browserget",
	[OFS_TOOL_SHELL] =
		"shell bash sh zsh powershell pwsh systemshell systemexec shellexec shellcall "
		"shellcommand localshell localshellcall terminal terminalexec terminalcommand "
		"runcommand runcommands runcmd cmdrun runshell runshellcommand runbash "
		"runbashcommand runterminalcmd runterminalcommand runinterminal "
		"getterminaloutput executecommand executecmd executebash executeshell "
		"executeshellcommand executebashcommand bashexec bashoutput bashcommand exec "
		"execcommand execcmd execshell execbash containerexec sandboxexec unifiedexec "
		"writestdin readprocessoutput startprocess interactwithprocess "
		"pythonrepl pythonreplast pythoninterpreter ipython ipythonrun runipython "
		"executeipythoncell executepython executepythoncode executecode runpython "
		"runpythoncode runcode codeinterpreter codeexecution codeexecute",
};

/* Names with this meaning only alone or after neutral prefixes. */
static const char *const bare[OFS_TOOL_COUNT] = {
	[OFS_TOOL_READ] = "read view open goto readresource",
	[OFS_TOOL_WRITE] = "write create edit insert replace patch append save",
	[OFS_TOOL_LIST] = "list dir find",
	[OFS_TOOL_SEARCH] = "search google bing duckduckgo exa",
	[OFS_TOOL_VISIT] = "fetch visit browse browser crawl http curl",
	[OFS_TOOL_SHELL] = "run execute command cmd console python python3 jupyter system",
};

/* Prefixes that do not change a name's meaning: of any tool, or of tools for files and shells. */
static const char neutral[] =
	"functions function tools tool defaultapi builtin default agent fs file "
	"files filesystem system os shell terminal";

/* Endings that carry no meaning. */
static const char *const endings[] = { "tool", "action", "function", "observation" };

static enum ofs_tool_rule find_rule(const char *const lists[OFS_TOOL_COUNT], const char *name,
				    size_t len)
{
	for (int i = 0; i < OFS_TOOL_COUNT; i++) {
		if (ofs_name_index(name, len, lists[i]))
			return (enum ofs_tool_rule)i;
	}
	return OFS_TOOL_OTHER;
}

/* Returns the length without a version at the end, as in "bash_20250124" or "read_file_v2". */
static size_t cut_version(const char *name, size_t len)
{
	size_t n = len;

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	if (n < len && n > 1 && name[n - 1] == 'v')
		n--;
	return n;
}

static size_t cut_ending(const char *name, size_t len)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(endings); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && memcmp(name + len - n, endings[i], n) == 0)
			return len - n;
	}
	return len;
}

/* Returns the rule for a name of `len` bytes; `alone`: no prefix could change its meaning. */
static enum ofs_tool_rule rule_of(const char *name, size_t len, bool alone)
{
	enum ofs_tool_rule rule = OFS_TOOL_OTHER;
	char folded[OFS_NAME_FOLDED_MAX];
	size_t n = ofs_name_fold(name, len, folded), before = 0;

	while (n && n != before && rule == OFS_TOOL_OTHER) {
		rule = find_rule(sure, folded, n);
		if (rule == OFS_TOOL_OTHER && alone)
			rule = find_rule(bare, folded, n);
		before = n;
		n = cut_version(folded, n);
		n = n == before ? cut_ending(folded, n) : n;
	}
	return rule;
}

/* Returns the rest of the name after its first prefix, or NULL if it has none. */
static const char *behind_prefix(const char *name)
{
	for (const char *p = name; *p; p++) {
		if (strchr(":./", *p) && p[1])
			return p + 1;
		if (p[0] == '_' && p[1] == '_' && p[2] && p > name)
			return p + 2;
	}
	return NULL;
}

const char *ofs_tool_own_name(const char *name)
{
	for (const char *rest = name; rest; rest = behind_prefix(rest))
		name = rest;
	return name;
}

static bool is_neutral(const char *prefix, size_t len)
{
	char folded[OFS_NAME_FOLDED_MAX];

	return ofs_name_index(folded, ofs_name_fold(prefix, len, folded), neutral);
}

enum ofs_tool_rule ofs_tool_rule(const char *name)
{
	bool alone = true;

	for (const char *rest = name; rest;) {
		enum ofs_tool_rule rule = rule_of(rest, strlen(rest), alone);
		const char *next = behind_prefix(rest);

		if (rule != OFS_TOOL_OTHER)
			return rule;
		alone = alone && next && is_neutral(rest, (size_t)(next - rest));
		rest = next;
	}
	return OFS_TOOL_OTHER;
}

const char *ofs_tool_name(enum ofs_tool_rule rule)
{
	return canonical[rule];
}

enum ofs_tool_rule ofs_tool_by_name(const char *name)
{
	for (int i = 0; name && i < OFS_TOOL_COUNT; i++) {
		if (strcmp(name, canonical[i]) == 0)
			return (enum ofs_tool_rule)i;
	}
	return OFS_TOOL_OTHER;
}

/* Compares two names, ignoring case and separators. */
static bool is_same(const char *a, const char *b)
{
	while (true) {
		while (*a && !isalnum((unsigned char)*a))
			a++;
		while (*b && !isalnum((unsigned char)*b))
			b++;
		if (!*a || !*b)
			return !*a && !*b;
		if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
			return false;
	}
}

/* Returns whether a section of the settings names the tool, with or without its prefixes. */
static bool is_about(const char *section, const char *tool)
{
	for (const char *rest = tool; rest; rest = behind_prefix(rest)) {
		if (is_same(section, rest))
			return true;
	}
	return false;
}

const struct ofs_tool_setting *ofs_tool_setting(const struct ofs_settings *s, const char *name,
						enum ofs_tool_rule *ret_rule)
{
	const struct ofs_tool_setting *own = NULL, *of_rule = NULL, *found;
	enum ofs_tool_rule rule = ofs_tool_rule(name);

	for (size_t i = 0; i < s->n_tools; i++) {
		const struct ofs_tool_setting *t = &s->tools[i];

		if (!t->name)
			continue;
		if (is_about(t->name, name))
			own = t;
		else if (rule != OFS_TOOL_OTHER && is_same(t->name, canonical[rule]))
			of_rule = t;
	}
	found = own ? own : of_rule;
	*ret_rule = found && found->like ? ofs_tool_rule(found->like) : rule;
	return found;
}
