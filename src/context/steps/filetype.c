/* SPDX-License-Identifier: MIT */
/* Finds the type of a file by its name and its first bytes. */
#include <strings.h>

#include "context/steps/observation.h"

/* Endings of text/plain files, each followed by its language. */
static const char *const languages[] = {
	"py",	 "Python",	 "pyi",	 "Python",	 "c",	 "C",	       "h",   "C",
	"cc",	 "C++",		 "cpp",	 "C++",		 "hpp",	 "C++",	       "js",  "JavaScript",
	"mjs",	 "JavaScript",	 "jsx",	 "JavaScript",	 "ts",	 "TypeScript", "tsx", "TypeScript",
	"rs",	 "Rust",	 "go",	 "Go",		 "java", "Java",       "kt",  "Kotlin",
	"swift", "Swift",	 "cs",	 "C#",		 "rb",	 "Ruby",       "php", "PHP",
	"sh",	 "shell script", "bash", "shell script", "sql",	 "SQL",	       "css", "CSS",
	"yaml",	 "YAML",	 "yml",	 "YAML",	 "toml", "TOML"
};

/*
 * Other types, by the ending or the first bytes; harnesses also pass those in base64. Text under
 * the name of a picture is the tool's rendering of it.
 */
static const struct {
	const char *ending, *begin; /* either may be NULL */
	struct ofs_filetype type;
} types[] = {
	{ "png", "\x89PNG", { "PNG image", "image/png" } },
	{ NULL, "iVBORw0KGgo", { "PNG image", "image/png" } },
	{ "jpg", "\xff\xd8\xff", { "JPEG image", "image/jpeg" } },
	{ "jpeg", "/9j/", { "JPEG image", "image/jpeg" } },
	{ "gif", "GIF8", { "GIF image", "image/gif" } },
	{ NULL, "R0lGOD", { "GIF image", "image/gif" } },
	{ "webp", NULL, { "WebP image", "image/webp" } },
	{ "pdf", "%PDF-", { "PDF", "application/pdf" } },
	{ NULL, "JVBERi0", { "PDF", "application/pdf" } },
	{ "zip", "PK\x03\x04", { "ZIP archive", "application/zip" } },
	{ "gz", "\x1f\x8b", { "gzip archive", "application/gzip" } },
	{ "sqlite", "SQLite format 3", { "SQLite database", "application/vnd.sqlite3" } },
	{ "ipynb", NULL, { "JSON", "application/json" } },
	{ "json", NULL, { "JSON", "application/json" } },
	{ "jsonl", NULL, { "JSON lines", "application/x-ndjson" } },
	{ "md", NULL, { "Markdown", "text/markdown" } },
	{ "html", NULL, { "HTML", "text/html" } },
	{ "xml", NULL, { "XML", "application/xml" } },
	{ "svg", NULL, { "SVG", "image/svg+xml" } },
	{ "csv", NULL, { "CSV", "text/csv" } },
	{ "diff", NULL, { "diff", "text/x-diff" } },
};

/* Returns the type for an ending; its name is NULL if there is none. */
static struct ofs_filetype by_ending(const char *ending)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(types); i++) {
		if (types[i].ending && strcasecmp(types[i].ending, ending) == 0)
			return types[i].type;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(languages); i += 2) {
		if (strcasecmp(languages[i], ending) == 0)
			return (struct ofs_filetype){ languages[i + 1], "text/plain" };
	}
	return (struct ofs_filetype){ 0 };
}

struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
	const char *dot = name ? strrchr(name, '.') : NULL;
	struct ofs_filetype type = { 0 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(types); i++) {
		size_t n = types[i].begin ? strlen(types[i].begin) : 0;

		if (n && len >= n && memcmp(text, types[i].begin, n) == 0)
			return types[i].type;
	}
	if (content->binary)
		return (struct ofs_filetype){ "binary", "application/octet-stream" };
	if (dot && dot > name)
		type = by_ending(dot + 1);
	if (!type.name)
		type = by_ending(content->ext);
	return type.name ? type : (struct ofs_filetype){ "text", "text/plain" };
}
