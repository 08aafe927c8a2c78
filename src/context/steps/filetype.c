/* SPDX-License-Identifier: MIT */
#include "context/steps/filetype.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"

struct by_name {
	const char *endings; /* in lower case, parted by blanks */
	struct ofs_filetype type;
};

struct by_begin {
	const char *begin;
	size_t len;
	struct ofs_filetype type;
};

#define TEXT_PLAIN "text/plain"

static const struct by_name by_ending[] = {
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
	{ "ini cfg conf properties", { "INI", TEXT_PLAIN } },
	{ "csv", { "CSV", "text/csv" } },
	{ "tsv", { "TSV", "text/tab-separated-values" } },
	{ "diff patch", { "diff", "text/x-diff" } },
	{ "tex", { "TeX", "text/x-tex" } },
	{ "log", { "log", TEXT_PLAIN } },
	{ "txt text", { "text", TEXT_PLAIN } },
};

/* A tool gives these files as they are, or as text made from them. */
static const struct by_name by_ending_binary[] = {
	{ "png", { "PNG image", "image/png" } },
	{ "jpg jpeg", { "JPEG image", "image/jpeg" } },
	{ "gif", { "GIF image", "image/gif" } },
	{ "webp", { "WebP image", "image/webp" } },
	{ "bmp", { "BMP image", "image/bmp" } },
	{ "ico", { "icon", "image/x-icon" } },
	{ "pdf", { "PDF", "application/pdf" } },
	{ "zip jar whl", { "ZIP archive", "application/zip" } },
	{ "gz tgz", { "gzip archive", "application/gzip" } },
	{ "tar", { "tar archive", "application/x-tar" } },
	{ "mp3 wav ogg flac", { "audio", "application/octet-stream" } },
	{ "mp4 webm mov avi", { "video", "application/octet-stream" } },
	{ "db sqlite sqlite3", { "SQLite database", "application/vnd.sqlite3" } },
	{ "docx", { "Word document", "application/octet-stream" } },
	{ "xlsx", { "Excel sheet", "application/octet-stream" } },
	{ "pyc so o a exe dll class wasm bin", { "binary", "application/octet-stream" } },
};

static const struct by_name by_whole_name[] = {
	{ "makefile gnumakefile", { "Makefile", "text/x-makefile" } },
	{ "dockerfile containerfile", { "Dockerfile", "text/x-dockerfile" } },
	{ "cmakelists.txt meson.build meson_options.txt", { "build file", TEXT_PLAIN } },
};

/* As bytes, or as harnesses give them: in base64. */
static const struct by_begin by_bytes[] = {
	{ "\x89PNG", 4, { "PNG image", "image/png" } },
	{ "iVBORw0KGgo", 11, { "PNG image", "image/png" } },
	{ "\xff\xd8\xff", 3, { "JPEG image", "image/jpeg" } },
	{ "/9j/", 4, { "JPEG image", "image/jpeg" } },
	{ "GIF8", 4, { "GIF image", "image/gif" } },
	{ "R0lGOD", 6, { "GIF image", "image/gif" } },
	{ "%PDF-", 5, { "PDF", "application/pdf" } },
	{ "JVBERi0", 7, { "PDF", "application/pdf" } },
	{ "PK\x03\x04", 4, { "ZIP archive", "application/zip" } },
	{ "UEsDB", 5, { "ZIP archive", "application/zip" } },
	{ "\x7f\x45LF", 4, { "ELF binary", "application/x-executable" } },
	{ "SQLite format 3", 15, { "SQLite database", "application/vnd.sqlite3" } },
};

static const struct by_begin by_text[] = {
	{ "#!/bin/sh", 9, { "shell script", "text/x-shellscript" } },
	{ "#!/bin/bash", 11, { "shell script", "text/x-shellscript" } },
	{ "#!/usr/bin/env bash", 19, { "shell script", "text/x-shellscript" } },
	{ "#!/usr/bin/env python", 21, { "Python", "text/x-python" } },
	{ "#!/usr/bin/python", 17, { "Python", "text/x-python" } },
	{ "<?php", 5, { "PHP", "text/x-php" } },
	{ "<svg", 4, { "SVG", "image/svg+xml" } },
	{ "<?xml", 5, { "XML", "application/xml" } },
};

/* Compares without regard to case. */
static bool has_word(const char *words, const char *text, size_t len)
{
	for (const char *p = words; *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && strncasecmp(p, text, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

static const struct ofs_filetype *find_name(const struct by_name *list, size_t n, const char *text,
					    size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (has_word(list[i].endings, text, len))
			return &list[i].type;
	}
	return NULL;
}

static const struct ofs_filetype *find_begin(const struct by_begin *list, size_t n,
					     const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (len >= list[i].len && memcmp(text, list[i].begin, list[i].len) == 0)
			return &list[i].type;
	}
	return NULL;
}

static const struct ofs_filetype *find_by_path(const char *path, bool binary)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const struct ofs_filetype *type = NULL;

	if (!binary)
		type = find_name(by_whole_name, OFS_ARRAY_SIZE(by_whole_name), name, strlen(name));
	if (!type && dot && dot > name && !binary)
		type = find_name(by_ending, OFS_ARRAY_SIZE(by_ending), dot + 1, strlen(dot + 1));
	if (!type && dot && dot > name)
		type = find_name(by_ending_binary, OFS_ARRAY_SIZE(by_ending_binary), dot + 1,
				 strlen(dot + 1));
	return type;
}

struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len)
{
	static const struct ofs_filetype binary = { "binary", "application/octet-stream" },
					 json = { "JSON", "application/json" },
					 html = { "HTML", "text/html" },
					 diff = { "diff", "text/x-diff" },
					 plain = { "text", TEXT_PLAIN };
	const struct ofs_filetype *type = find_begin(by_bytes, OFS_ARRAY_SIZE(by_bytes), text, len);

	if (!type && path)
		type = find_by_path(path, content->binary);
	if (!type && !content->binary)
		type = find_begin(by_text, OFS_ARRAY_SIZE(by_text), text, len);
	if (type)
		return *type;
	if (content->binary)
		return binary;
	if (strcmp(content->ext, "json") == 0)
		return json;
	if (strcmp(content->ext, "html") == 0)
		return html;
	return strcmp(content->ext, "diff") == 0 ? diff : plain;
}
