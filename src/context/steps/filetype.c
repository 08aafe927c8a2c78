/* SPDX-License-Identifier: MIT */
#include "context/steps/filetype.h"

#include <string.h>
#include <strings.h>

#include "base/util.h"

#define TEXT "text/plain"
#define BYTES "application/octet-stream"

/* Types of text; a name that is binary is of another kind. */
static const struct {
	const char *endings; /* in lower case, separated by blanks */
	struct ofs_filetype type;
} texts[] = {
	{ "json geojson webmanifest ipynb", { "JSON", "application/json" } },
	{ "jsonl ndjson", { "JSON lines", "application/x-ndjson" } },
	{ "py pyi pyw", { "Python", "text/x-python" } },
	{ "c h", { "C", "text/x-c" } },
	{ "cc cpp cxx hpp hh hxx", { "C++", "text/x-c++" } },
	{ "md markdown mdx", { "Markdown", "text/markdown" } },
	{ "rst", { "reStructuredText", "text/x-rst" } },
	{ "js mjs cjs jsx", { "JavaScript", "text/javascript" } },
	{ "ts tsx mts cts", { "TypeScript", "text/x-typescript" } },
	{ "rs", { "Rust", "text/x-rust" } },
	{ "go", { "Go", "text/x-go" } },
	{ "java", { "Java", "text/x-java" } },
	{ "kt kts", { "Kotlin", "text/x-kotlin" } },
	{ "swift", { "Swift", "text/x-swift" } },
	{ "cs", { "C#", "text/x-csharp" } },
	{ "rb", { "Ruby", "text/x-ruby" } },
	{ "php", { "PHP", "text/x-php" } },
	{ "pl pm", { "Perl", "text/x-perl" } },
	{ "lua", { "Lua", "text/x-lua" } },
	{ "r", { "R", "text/x-r" } },
	{ "scala", { "Scala", "text/x-scala" } },
	{ "sh bash zsh", { "shell script", "text/x-shellscript" } },
	{ "sql", { "SQL", "application/sql" } },
	{ "html htm xhtml", { "HTML", "text/html" } },
	{ "css scss less", { "CSS", "text/css" } },
	{ "xml xsd xsl", { "XML", "application/xml" } },
	{ "svg", { "SVG", "image/svg+xml" } },
	{ "yaml yml", { "YAML", "application/yaml" } },
	{ "toml", { "TOML", "application/toml" } },
	{ "csv", { "CSV", "text/csv" } },
	{ "diff patch", { "diff", "text/x-diff" } },
	{ "tex", { "TeX", "text/x-tex" } },
};

/*
 * A tool gives these files as they are, in base64, or as text made from them: then the name alone
 * says what they are.
 */
static const struct {
	const char *endings, *begins; /* either may be NULL */
	struct ofs_filetype type;
} others[] = {
	{ "png", "\x89PNG", { "PNG image", "image/png" } },
	{ NULL, "iVBORw0KGgo", { "PNG image", "image/png" } },
	{ "jpg jpeg", "\xff\xd8\xff", { "JPEG image", "image/jpeg" } },
	{ NULL, "/9j/", { "JPEG image", "image/jpeg" } },
	{ "gif", "GIF8", { "GIF image", "image/gif" } },
	{ NULL, "R0lGOD", { "GIF image", "image/gif" } },
	{ "webp", NULL, { "WebP image", "image/webp" } },
	{ "pdf", "%PDF-", { "PDF", "application/pdf" } },
	{ NULL, "JVBERi0", { "PDF", "application/pdf" } },
	{ "docx", NULL, { "Word document", BYTES } },
	{ "xlsx", NULL, { "Excel sheet", BYTES } },
	{ "zip jar whl", "PK\x03\x04", { "ZIP archive", "application/zip" } },
	{ "gz tgz", "\x1f\x8b", { "gzip archive", "application/gzip" } },
	{ "db sqlite sqlite3", "SQLite format 3", { "SQLite database", "application/vnd.sqlite3" } },
	{ "bmp ico mp3 mp4 tar so o a exe pyc", "\x7f\x45LF", { "binary", BYTES } },
};

/* Compares without regard to case. */
static bool has_word(const char *words, const char *text)
{
	size_t len = strlen(text);

	for (const char *p = words; p && *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && strncasecmp(p, text, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
	const char *dot = name ? strrchr(name, '.') : NULL;
	const char *ending = dot && dot > name ? dot + 1 : "";

	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++) {
		const char *begins = others[i].begins;
		size_t n = begins ? strlen(begins) : 0;

		if ((n && len >= n && memcmp(text, begins, n) == 0) ||
		    has_word(others[i].endings, ending))
			return others[i].type;
	}
	if (content->binary)
		return (struct ofs_filetype){ "binary", BYTES };
	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		if (has_word(texts[i].endings, ending))
			return texts[i].type;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		if (has_word(texts[i].endings, content->ext))
			return texts[i].type;
	}
	return (struct ofs_filetype){ "text", TEXT };
}
