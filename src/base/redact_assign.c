/* SPDX-License-Identifier: MIT */
/* Finds secrets by the name that they are assigned to. */
#include "base/redact_rules.h"
#include "base/util.h"

/* Limits of the length of a name, and of the gap between name and value. */
#define NAME_MAX_LEN 64
#define GAP_MAX 64

#define VALUE_MIN 8
#define KEY_MIN 20
#define PASSWORD_LONG 12
#define DIGEST_MIN 32

static size_t back_over(const struct ofs_redact_scan *s, size_t at, unsigned int classes,
			char other)
{
	size_t stop = OFS_MAX(s->at, at > NAME_MAX_LEN ? at - NAME_MAX_LEN : 0);

	while (at > stop && (redact_is(s->text[at - 1], classes) || s->text[at - 1] == other))
		at--;
	return at;
}

static size_t back_over_any(const struct ofs_redact_scan *s, size_t at, const char *set)
{
	size_t stop = OFS_MAX(s->at, at > NAME_MAX_LEN ? at - NAME_MAX_LEN : 0);

	while (at > stop && redact_among(s->text[at - 1], set))
		at--;
	return at;
}

/*
 * Returns the name in `name: NAME, value: X` or `<add key="NAME" value="X"/>`; "value" is at `at`.
 */
static const struct redact_name *name_beside(const struct ofs_redact_scan *s, size_t at)
{
	size_t end = back_over_any(s, at, " \t\r\n\"'`,;-\\");
	size_t start = back_over(s, end, REDACT_URLSAFE, '.');
	size_t before = back_over_any(s, start, " \t\"'`:=\\");

	if (before == start || before < s->at + 4 ||
	    !(redact_has(s->text, s->len, before - 4, "name", true) ||
	      redact_has(s->text, s->len, before - 3, "key", true)))
		return NULL;
	return redact_name_find(s->text, start, end);
}

/* Returns the name in `name: type = "X"` or `name type = "X"`, where the type starts at `at`. */
static const struct redact_name *name_before_type(const struct ofs_redact_scan *s, size_t at)
{
	size_t end = back_over_any(s, at, " :&*"), start = back_over(s, end, REDACT_WORD, '_');

	return start < end && end < at ? redact_name_find(s->text, start, end) : NULL;
}

/*
 * Returns the name before the sign at `at`: name, "name", \"name\", x["name"], <name>. The sign may
 * be `+=`, `?=` or similar, or the comma between two arguments.
 */
static const struct redact_name *name_before(const struct ofs_redact_scan *s, size_t at)
{
	const char *text = s->text;
	const struct redact_name *name;
	size_t start, end = text[at] == '=' ? back_over_any(s, at, "?:+.") : at;

	if (text[at] == '=' && at > s->at && redact_among(text[at - 1], "=!<>-*/|&^%~"))
		return NULL;
	end = back_over(s, end, REDACT_SPACE, ' ');
	if (end > s->at && text[end - 1] == ']') {
		/* PHP prints `[name] => value`. */
		if (end - s->at < 2 || !(redact_is(text[end - 2], REDACT_QUOTE) ||
					 redact_has(text, s->len, at, "=> ", false)))
			return NULL;
		end--;
	}
	end = back_over(s, end, REDACT_QUOTE, '\\');
	start = back_over(s, end, REDACT_URLSAFE, '.');
	if (text[at] == '>' && (start == s->at || text[start - 1] != '<'))
		return NULL;
	/* A type or the kind of a resource: "AWS::SecretsManager::Secret". */
	if (text[at] == ':' && start > s->at && text[start - 1] == ':')
		return NULL;
	if (end - start == strlen("value") && redact_has(text, end, start, "value", true))
		return name_beside(s, start);
	name = start < end ? redact_name_find(text, start, end) : NULL;
	return name || text[at] != '=' ? name : name_before_type(s, start);
}

struct value {
	size_t start, end;
	char quote; /* 0 if unquoted */
	bool is_escaped; /* the quote is written as \" */
	bool is_compared; /* compared (==) rather than assigned */
	bool has_scheme; /* preceded by a scheme such as "Bearer" */
};

/* Skips "Bearer" or another scheme of a header, with the blanks after it. */
static size_t skip_auth_scheme(const char *text, size_t len, size_t at)
{
	static const char *const schemes[] = { "bearer",	  "basic", "token",    "apikey",
					       "negotiate",	  "ssws",  "geniekey", "splunk",
					       "klaviyo-api-key", "key",   "bot" };

	if (at == len || !redact_among(redact_fold(text[at]), "abgknst"))
		return at;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(schemes); i++) {
		size_t end;

		if (!redact_has(text, len, at, schemes[i], true))
			continue;
		end = at + strlen(schemes[i]);
		if (end < len && redact_is(text[end], REDACT_SPACE))
			return redact_run(text, end, OFS_MIN(len, end + GAP_MAX), REDACT_SPACE);
	}
	return at;
}

/* Finds the start of the value after the sign at `at`, inside its quotes. */
static bool value_open(const char *text, size_t len, size_t at, struct value *v)
{
	size_t start = at + 1, limit;

	*v = (struct value){ .is_compared = text[at] == '=' && start < len && text[start] == '=' };
	/* LDIF puts base64 after "::". */
	start += text[at] == ':' && redact_has(text, len, start, ": ", false);
	/* A scope in C++ or a URL. */
	if (text[at] == ':' && start < len &&
	    (text[start] == ':' || redact_has(text, len, start, "//", false)))
		return false;
	while (start < len && start < at + 3 && redact_among(text[start], "=>"))
		start++;
	limit = OFS_MIN(len, start + GAP_MAX);
	start = redact_run(text, start, limit, REDACT_SPACE);
	/* The value is on the next line: a block in YAML or an element in XML. */
	if (text[at] == ':' && start < limit && redact_among(text[start], "|>"))
		start += start + 1 < limit && redact_among(text[start + 1], "-+") ? 2 : 1;
	if (start < limit && text[start] == '\n' && redact_among(text[start - 1], "|>-+"))
		start = redact_run(text, start + 1, limit, REDACT_SPACE);
	/* The first element of a list. */
	if (start + 1 < limit && text[start] == '[' &&
	    (redact_is(text[start + 1], REDACT_QUOTE) ||
	     skip_auth_scheme(text, len, start + 1) > start + 1))
		start++;
	start += redact_has(text, limit, start, "Some(", false) ? strlen("Some(") : 0;
	/* b"...", f"...", @"...". */
	if (start + 1 < limit && redact_among(text[start], "bBfFrRuUnN@") &&
	    redact_is(text[start + 1], REDACT_QUOTE))
		start++;
	v->start = start;
	while (start < limit && text[start] == '\\')
		start++;
	if (start < limit && redact_is(text[start], REDACT_QUOTE)) {
		v->is_escaped = start > v->start;
		v->quote = text[start];
		v->start = start + 1;
	}
	return v->start < len;
}

/*
 * Finds the closing quote. A value that contains blanks is prose. A quoted value contains no other
 * opening quote of the same kind, so no byte is read more than once for each kind.
 */
static bool quoted_end(const char *text, size_t len, struct value *v)
{
	for (size_t at = v->start; at < len; at++) {
		if (text[at] == v->quote) {
			v->end = at;
			return true;
		}
		if (redact_is(text[at], REDACT_SPACE) || (unsigned char)text[at] < ' ')
			return false;
		if (text[at] != '\\')
			continue;
		if (!v->is_escaped) {
			at++;
			continue;
		}
		v->end = at;
		while (at + 1 < len && text[at + 1] == '\\')
			at++;
		if (at + 1 < len && text[at + 1] == v->quote)
			return true;
	}
	/* The text was cut inside the value. */
	v->end = len;
	return true;
}

/* An "&" is part of a password unless a name or an entity follows: "&x=1", "&amp;". */
static bool ends_unquoted(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '&')
		return redact_is(text[at], REDACT_STOP | REDACT_SPACE | REDACT_QUOTE);
	end = redact_run(text, at + 1, OFS_MIN(len, at + NAME_MAX_LEN),
			 REDACT_URLSAFE | REDACT_DOT);
	return end > at + 1 && end < len && redact_among(text[end], "=;");
}

static void unquoted_end(struct ofs_redact_scan *s, struct value *v)
{
	if (v->start < s->word_start || v->start > s->word_end) {
		s->word_start = s->word_end = v->start;
		while (s->word_end < s->len && !ends_unquoted(s->text, s->len, s->word_end))
			s->word_end++;
	}
	v->end = s->word_end;
}

/* A name, or names joined by dots, as in code: a.b_c. */
static bool is_identifier(const char *text, size_t len)
{
	len = OFS_MIN(len, NAME_MAX_LEN);
	return !redact_is(text[0], REDACT_DIGIT) && !redact_is_hex(text, len) &&
	       redact_run(text, 0, len, REDACT_WORD | REDACT_DOT) == len;
}

/* Has the form of a name in code, but is a key. */
static bool is_random_name(const struct redact_look *look, size_t len)
{
	return redact_is_random(look, len) &&
	       (look->changes * 3 >= look->sampled || redact_is_odd(look, len >= REDACT_LONG));
}

static bool is_password(const struct redact_look *look, const char *text, size_t len)
{
	bool lower = look->classes & REDACT_LOWER, upper = look->classes & REDACT_UPPER;
	bool digit = look->classes & REDACT_DIGIT;

	return look->variety >= REDACT_VARIETY_MIN &&
	       (lower + upper + digit + look->special >= 3 ||
		(len >= PASSWORD_LONG && look->changes * 4 >= look->sampled)) &&
	       !memchr(text, '/', OFS_MIN(len, NAME_MAX_LEN));
}

/* "PWD" also names the working directory. */
static bool is_path(const char *text, size_t len)
{
	return text[0] == '/' && memchr(text + 1, '/', OFS_MIN(len, NAME_MAX_LEN) - 1);
}

static bool is_url(const char *text, size_t len)
{
	len = OFS_MIN(len, NAME_MAX_LEN);
	for (size_t i = 0; i < len && redact_is(text[i], REDACT_ALNUM); i++)
		if (redact_has(text, len, i + 1, "://", false))
			return true;
	return false;
}

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* "user:password" in base64. */
static bool is_user_and_password(const char *text, size_t len)
{
	unsigned int bits = 0, n = 0, count = 0;
	bool colon = false;

	if (len % 4)
		return false;
	while (len && text[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		int digit = base64_digit(text[i]);
		unsigned char c;

		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned int)digit;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		c = (unsigned char)(bits >> n);
		if (c < ' ' || c == 0x7f)
			return false;
		colon = colon || (c == ':' && count);
		count++;
	}
	return colon;
}

/* A long hexadecimal number, or a UUID. */
static bool is_number(const char *text, size_t len)
{
	return len >= DIGEST_MIN && redact_is_hex(text, len) &&
	       redact_run(text, 0, len, REDACT_ALNUM | REDACT_DASH) == len;
}

/* The key of a CI cache: words, then a digest of the files that it depends on. */
static bool is_key_of_cache(const char *text, size_t len)
{
	const char *dash = memrchr(text, '-', len);

	return dash && is_number(dash + 1, (size_t)(text + len - dash) - 1);
}

bool redact_is_key_or_password(const char *text, size_t len)
{
	struct redact_look look;

	redact_look(text, len, &look);
	return len >= VALUE_MIN && !is_path(text, len) && !is_url(text, len) &&
	       !redact_is_placeholder(text, len) &&
	       (is_identifier(text, len)
			? is_random_name(&look, len)
			: redact_is_random(&look, len) || is_password(&look, text, len) ||
				  (look.variety >= REDACT_VARIETY_MIN && is_number(text, len)));
}

static bool may_be_password(const struct redact_name *name)
{
	return name->sort == REDACT_NAME_PASSWORD || name->sort == REDACT_NAME_PASS;
}

static bool is_secret(struct ofs_redact_scan *s, const struct redact_name *name,
		      const struct value *v)
{
	const char *text = s->text + v->start;
	size_t len = v->end - v->start;
	struct redact_look look;
	bool random;

	if (len < VALUE_MIN)
		return false;
	redact_look(text, len, &look);
	random = redact_is_random(&look, len) ||
		 (look.variety >= REDACT_VARIETY_MIN && is_number(text, len));
	if (!v->quote && v->end < s->len && redact_among(s->text[v->end], "([{"))
		return false;
	if (v->has_scheme) {
		if (look.variety < REDACT_VARIETY_MIN || !(look.classes & REDACT_LETTER) ||
		    (look.classes & REDACT_ALNUM) == REDACT_LOWER)
			return false;
	} else if (!v->quote) {
		if (v->is_compared || (is_identifier(text, len) && !is_random_name(&look, len)))
			return false;
	}
	if ((name->sort == REDACT_NAME_COOKIE || name->sort == REDACT_NAME_QUERY) &&
	    (len < REDACT_LONG || s->text[v->start - 1] != '='))
		return false;
	if (name->sort == REDACT_NAME_KEY &&
	    (len < KEY_MIN || look.digits < 2 || is_key_of_cache(text, len)))
		return false;
	if (name->sort == REDACT_NAME_BASIC)
		return is_user_and_password(text, len);
	if (name->sort == REDACT_NAME_PHRASE)
		random = !redact_is_password_stand_in(text, len);
	if (!random && !v->has_scheme && !(may_be_password(name) && is_password(&look, text, len)))
		return false;
	if (may_be_password(name) && is_path(text, len))
		return false;
	return !is_url(text, len) && !redact_is_placeholder(text, len);
}

/* Most values are too short. Checking this first avoids searching for the name. */
static bool is_long_enough(const char *text, size_t len, size_t at, bool is_quoted)
{
	unsigned int stops = is_quoted ? REDACT_SPACE : REDACT_SPACE | REDACT_QUOTE;
	size_t end = at;

	while (end < len && end - at < VALUE_MIN && !redact_is(text[end], stops))
		end++;
	return end - at == VALUE_MIN;
}

/* Finds a secret value after the sign or blank at `at`. */
static bool find_value(struct ofs_redact_scan *s, size_t at,
		       const struct redact_name *(*find_name)(const struct ofs_redact_scan *s,
							      size_t at),
		       struct ofs_secret *ret)
{
	const struct redact_name *name;
	const char *kind;
	struct value v;
	size_t start;

	/* Most commas follow no quoted name, and most ">" no name in brackets. */
	if (s->text[at] == ',' && (at < s->at + 2 || !redact_is(s->text[at - 1], REDACT_QUOTE) ||
				   !redact_is(s->text[at - 2], REDACT_LETTER)))
		return false;
	if (s->text[at] == '>' && (at + 1 == s->len || s->text[at + 1] == '<' || at == s->at ||
				   !redact_is(s->text[at - 1], REDACT_LETTER)))
		return false;
	if (!value_open(s->text, s->len, at, &v))
		return false;
	start = skip_auth_scheme(s->text, s->len, v.start);
	if (!is_long_enough(s->text, s->len, start, v.quote))
		return false;
	name = find_name(s, at);
	if (!name)
		return false;
	if (name->sort == REDACT_NAME_HEADER) {
		v.has_scheme = start > v.start;
		v.start = start;
		v.quote = 0; /* the value may end before its quote */
	}
	if (v.quote) {
		if (!quoted_end(s->text, s->len, &v))
			return false;
	} else {
		unquoted_end(s, &v);
	}
	if (!is_secret(s, name, &v))
		return false;
	kind = name->kind;
	if (!strcmp(kind, "aws-secret-access-key") && v.end - v.start != AWS_SECRET_LEN)
		kind = "secret";
	*ret = (struct ofs_secret){ v.start, v.end - v.start, kind };
	return true;
}

bool redact_assigned(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	return find_value(s, at, name_before, ret);
}

/* Returns the name of the option that ends at the blank at `at`. */
static const struct redact_name *option_before(const struct ofs_redact_scan *s, size_t at)
{
	return redact_name_find(s->text, back_over(s, at, REDACT_URLSAFE, '-'), at);
}

bool redact_option(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	size_t end = redact_run(s->text, at + 2, OFS_MIN(s->len, at + NAME_MAX_LEN),
				REDACT_ALNUM | REDACT_DASH);

	return redact_starts(s, at, REDACT_ALNUM | REDACT_DASH) && end + 1 < s->len &&
	       s->text[end] == ' ' && s->text[end + 1] != '-' &&
	       find_value(s, end, option_before, ret);
}

/* ---- names without a sign */

/* Returns the name in the word before the blanks that end at `at`. */
static const struct redact_name *word_before(const struct ofs_redact_scan *s, size_t at)
{
	size_t end = back_over(s, at, REDACT_SPACE, ' ');

	return redact_name_find(s->text, back_over(s, end, REDACT_URLSAFE, '.'), end);
}

/*
 * Returns the name in that word, or "password" for "identified by" and "identified with PLUGIN by".
 */
static const struct redact_name *name_before_quote(const struct ofs_redact_scan *s, size_t at)
{
	static const struct redact_name password = { "", "password", REDACT_NAME_PHRASE };
	static const char by[] = " by";
	size_t stop = OFS_MAX(s->at, at > NAME_MAX_LEN ? at - NAME_MAX_LEN : 0);

	if (at < s->at + strlen(by) || !redact_has(s->text, s->len, at - strlen(by), by, true))
		return word_before(s, at);
	while (at > stop && s->text[at - 1] != '\n')
		if (redact_has(s->text, s->len, --at, "identified ", true))
			return &password;
	return NULL;
}

bool redact_quoted(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	return at > s->at && redact_is(s->text[at - 1], REDACT_ALNUM | REDACT_SPACE) &&
	       is_long_enough(s->text, s->len, skip_auth_scheme(s->text, s->len, at + 2), false) &&
	       find_value(s, at, name_before_quote, ret);
}

static const struct redact_name *setter_before(const struct ofs_redact_scan *s, size_t at)
{
	size_t start = back_over(s, at, REDACT_WORD, '_');

	return redact_has(s->text, at, start, "set", true) ? redact_name_find(s->text, start, at)
							   : NULL;
}

bool redact_setter(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	return is_long_enough(s->text, s->len, at + 2, false) &&
	       find_value(s, at, setter_before, ret);
}

static size_t entry_word_end(const struct ofs_redact_scan *s, size_t at)
{
	while (at < s->len && (unsigned char)s->text[at] > ' ')
		at++;
	return at;
}

static size_t blanks_end(const struct ofs_redact_scan *s, size_t at)
{
	return redact_run(s->text, at, s->len, REDACT_SPACE);
}

/* Commands and directives that take a name and a value. */
static bool is_setter(const char *word, size_t len)
{
	static const char *const setters[] = { "set",  "setx", "setenv", "env",	   "#define", "npm",
					       "yarn", "aws",  "git",	 "poetry", "conda",   "pip",
					       "gh",   "$",    "d-i",	 "nmcli" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(setters); i++)
		if (redact_fold(*word) == *setters[i] && len == strlen(setters[i]) &&
		    redact_has(word, len, 0, setters[i], true))
			return true;
	return false;
}

/* True if the word at `at` is the last of its line or column and long enough for a value. */
static bool is_last(const struct ofs_redact_scan *s, size_t at)
{
	size_t end = entry_word_end(s, at), next = blanks_end(s, end);

	return end >= at + VALUE_MIN &&
	       (next == s->len || next > end + 1 || redact_among(s->text[next], "\r\n\\"));
}

/* Words at the start of a line in which a name is searched for. */
#define ENTRY_WORDS 5

bool redact_entry(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	bool sets = true;

	at += s->text[at] == '\n';
	for (int i = 0; i < ENTRY_WORDS; i++) {
		size_t start = blanks_end(s, at), end = entry_word_end(s, start);
		size_t value = blanks_end(s, end);

		if (end == start || value == end)
			return false;
		if ((sets || value - end > 1) && is_last(s, value) &&
		    find_value(s, value - 1, word_before, ret))
			return true;
		sets = is_setter(s->text + start, end - start) || (sets && i);
		if (!sets && value - end == 1)
			return false;
		at = end;
	}
	return false;
}
