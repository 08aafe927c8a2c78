/* SPDX-License-Identifier: MIT */
/*
 * A byte-pair tokenizer first cuts a text into pieces (a word with the space before it, up to three
 * digits, a run of punctuation, a run of white space), then each piece into tokens. The automaton
 * here walks over the characters and tracks the kind of the current piece and the position in it.
 * It charges each character the number of tokens that it adds on average: none where pieces of this
 * kind are mostly one token of any length, one where a new token is sure to start. All costs are in
 * tokens_cost.h; this file defines only what they depend on.
 */
#include "base/tokens.h"

/* clang-format off */
/* Classes of characters; transitions between them have costs. */
enum class {
	CLASS_START, /* start of the text, no character yet */
	CLASS_WIDE, /* neither ASCII nor an accented letter */
	CLASS_ACCENT,
	CLASS_ACCENT_FAR, /* an accented Latin letter of three bytes in UTF-8 */
	CLASS_LOWER, CLASS_UPPER, CLASS_DIGIT, CLASS_SPACE, CLASS_TAB, CLASS_LINE,
	CLASS_CONTROL, /* from here to CLASS_SIGN, cut like punctuation */
	CLASS_QUOTE, CLASS_APOSTROPHE, CLASS_OPEN, CLASS_CLOSE, CLASS_ANGLE, CLASS_COMMA,
	CLASS_COLON, CLASS_DOT, CLASS_SLASH, CLASS_DASH, CLASS_UNDERSCORE,
	CLASS_RULE, /* characters that lines are drawn with */
	CLASS_SIGN,
	CLASS_AGAIN, /* the same punctuation as before */
	CLASS_UPPER_AGAIN, /* the same capital as before */
	CLASSES,
};

/* Groups of characters. A piece may end where the group changes. */
enum group {
	GROUP_WIDE, GROUP_LOWER, GROUP_UPPER, GROUP_DIGIT, GROUP_SPACE, GROUP_LINE, GROUP_PUNCT,
	GROUP_AGAIN, GROUPS,
};

/* Kinds of pieces. That of a word depends on what precedes it, often in the same token. */
enum piece {
	PIECE_NONE, PIECE_WIDE,
	PIECE_SPACED, /* a word after a space */
	PIECE_BARE, /* a word after punctuation or at the start of a line */
	PIECE_JOINED, /* a word after a lower-case letter: a later part of camelCase */
	PIECE_MIXED, /* a word after a digit or a joined word, as in generated names */
	PIECE_SPACED_UPPER, /* from here to MIXED_UPPER: as above, but only a capital so far */
	PIECE_BARE_UPPER, PIECE_JOINED_UPPER, PIECE_MIXED_UPPER, PIECE_CAPITALS, PIECE_DIGIT_1,
	PIECE_DIGIT_2, PIECE_DIGIT_3, PIECE_SPACES, PIECE_LINES, PIECE_PUNCT, PIECES,
};

/* Rows of costs, which depend on the length of the piece so far. */
enum row {
	ROW_NONE, ROW_SPACED, ROW_BARE, ROW_JOINED, ROW_MIXED, ROW_CAPITALS,
	ROW_CAPITALS_LOWER, /* a small letter after several capitals */
	ROW_HUMP, /* a capital after small letters */
	ROW_MIXED_HUMP, ROW_DIGITS, ROW_SPACES, ROW_SPACES_WORD, ROW_SPACES_LINE, ROW_LINES,
	ROW_LINES_SPACES, ROW_PUNCT, ROW_PUNCT_WORD, ROW_PUNCT_LINE, ROW_AGAIN, ROWS,
};

enum script {
	SCRIPT_INVALID, /* bytes that are not UTF-8 */
	SCRIPT_LATIN, /* never charged by script, since its letters are CLASS_ACCENT */
	SCRIPT_LATIN_FAR, SCRIPT_GREEK, SCRIPT_CYRILLIC,
	SCRIPT_CYRILLIC_FAR, /* letters not used in Russian */
	SCRIPT_ARMENIAN, SCRIPT_HEBREW, SCRIPT_ARABIC, SCRIPT_DEVANAGARI, SCRIPT_BENGALI,
	SCRIPT_INDIC, /* other scripts of India */
	SCRIPT_GURMUKHI, SCRIPT_GUJARATI, SCRIPT_TAMIL, SCRIPT_TELUGU, SCRIPT_KANNADA,
	SCRIPT_MALAYALAM, SCRIPT_THAI,
	SCRIPT_SOUTHEAST, /* Lao, Burmese, Khmer */
	SCRIPT_ETHIOPIC, SCRIPT_GEORGIAN, SCRIPT_HANGUL, SCRIPT_KANA, SCRIPT_HAN, SCRIPT_OTHER,
	SCRIPT_PUNCT, SCRIPT_SYMBOL, SCRIPT_BOX, SCRIPT_CJK_PUNCT, SCRIPT_EMOJI, SCRIPTS,
};
/* clang-format on */

/* Positions in a piece that are distinguished; the last stands for all later ones. */
#define FAR 16
#define LETTERS 27 /* none, and a to z */

#include "base/tokens_cost.h"

/* One byte for each character: ASCII as it is, then a stand-in for each other kind. */
enum {
	ASCII_LAST = 0x7f,
	LAST_WIDE,
	LAST_ACCENT,
	LAST_ACCENT_FAR,
	LAST_START,
	KNOWN_BYTES,
};

struct byte {
	uint8_t class[2]; /* the second if the character repeats */
	uint8_t group[2];
	uint8_t letter;
};

/* clang-format off */
#define BYTE(c, g, letter) { { CLASS_##c, CLASS_##c }, { GROUP_##g, GROUP_##g }, letter }
#define PUNCT(c) { { CLASS_##c, CLASS_AGAIN }, { GROUP_PUNCT, GROUP_AGAIN }, 0 }
#define UPPER(letter) { { CLASS_UPPER, CLASS_UPPER_AGAIN }, { GROUP_UPPER, GROUP_UPPER }, letter }
#define EIGHT(first, what) \
	[first] = what, [(first) + 1] = what, [(first) + 2] = what, [(first) + 3] = what, \
	[(first) + 4] = what, [(first) + 5] = what, [(first) + 6] = what, [(first) + 7] = what
#define LETTER(i, lower, upper) [lower] = BYTE(LOWER, LOWER, i), [upper] = UPPER(i)

static const struct byte bytes[KNOWN_BYTES] = {
	EIGHT(0x00, PUNCT(CONTROL)), [0x08] = PUNCT(CONTROL), [0x0e] = PUNCT(CONTROL),
	[0x0f] = PUNCT(CONTROL), EIGHT(0x10, PUNCT(CONTROL)), EIGHT(0x18, PUNCT(CONTROL)),
	[ASCII_LAST] = PUNCT(CONTROL),
	['\t'] = BYTE(TAB, SPACE, 0), ['\v'] = BYTE(TAB, SPACE, 0), ['\f'] = BYTE(TAB, SPACE, 0),
	['\n'] = BYTE(LINE, LINE, 0), ['\r'] = BYTE(LINE, LINE, 0), [' '] = BYTE(SPACE, SPACE, 0),
	EIGHT('0', BYTE(DIGIT, DIGIT, 0)), ['8'] = BYTE(DIGIT, DIGIT, 0),
	['9'] = BYTE(DIGIT, DIGIT, 0),
	LETTER(1, 'a', 'A'), LETTER(2, 'b', 'B'), LETTER(3, 'c', 'C'), LETTER(4, 'd', 'D'),
	LETTER(5, 'e', 'E'), LETTER(6, 'f', 'F'), LETTER(7, 'g', 'G'), LETTER(8, 'h', 'H'),
	LETTER(9, 'i', 'I'), LETTER(10, 'j', 'J'), LETTER(11, 'k', 'K'), LETTER(12, 'l', 'L'),
	LETTER(13, 'm', 'M'), LETTER(14, 'n', 'N'), LETTER(15, 'o', 'O'), LETTER(16, 'p', 'P'),
	LETTER(17, 'q', 'Q'), LETTER(18, 'r', 'R'), LETTER(19, 's', 'S'), LETTER(20, 't', 'T'),
	LETTER(21, 'u', 'U'), LETTER(22, 'v', 'V'), LETTER(23, 'w', 'W'), LETTER(24, 'x', 'X'),
	LETTER(25, 'y', 'Y'), LETTER(26, 'z', 'Z'),
	['"'] = PUNCT(QUOTE), ['\''] = PUNCT(APOSTROPHE), ['`'] = PUNCT(APOSTROPHE),
	['('] = PUNCT(OPEN), ['['] = PUNCT(OPEN), ['{'] = PUNCT(OPEN),
	[')'] = PUNCT(CLOSE), [']'] = PUNCT(CLOSE), ['}'] = PUNCT(CLOSE),
	['<'] = PUNCT(ANGLE), ['>'] = PUNCT(ANGLE), [','] = PUNCT(COMMA), [';'] = PUNCT(COMMA),
	[':'] = PUNCT(COLON), ['.'] = PUNCT(DOT), ['!'] = PUNCT(DOT), ['?'] = PUNCT(DOT),
	['/'] = PUNCT(SLASH), ['\\'] = PUNCT(SLASH), ['-'] = PUNCT(DASH), ['_'] = PUNCT(UNDERSCORE),
	['*'] = PUNCT(RULE), ['#'] = PUNCT(RULE),
	['='] = PUNCT(RULE), ['~'] = PUNCT(RULE), ['+'] = PUNCT(RULE),
	['$'] = PUNCT(SIGN), ['@'] = PUNCT(SIGN), ['%'] = PUNCT(SIGN),
	['^'] = PUNCT(SIGN), ['&'] = PUNCT(SIGN), ['|'] = PUNCT(SIGN),
	[LAST_WIDE] = BYTE(WIDE, WIDE, 0), [LAST_ACCENT] = BYTE(ACCENT, LOWER, 0),
	[LAST_ACCENT_FAR] = BYTE(ACCENT_FAR, LOWER, 0), [LAST_START] = BYTE(START, WIDE, 0),
};
/* clang-format on */

struct move {
	uint8_t piece; /* the next piece */
	uint8_t row; /* its cost */
	uint8_t keeps; /* all bits set if the piece continues, none if a new one starts */
};

/* clang-format off */
/* NEXT starts a new piece with the character, SAME continues the present one; `r` is the cost. */
#define NEXT(p, r) { PIECE_##p, ROW_##r, 0 }
#define SAME(p, r) { PIECE_##p, ROW_##r, 0xff }

/* Moves at the end of a word. Letters, which continue it, are not included. */
#define WORD_ENDS \
	[GROUP_WIDE] = NEXT(WIDE, NONE), [GROUP_DIGIT] = NEXT(DIGIT_1, NONE), \
	[GROUP_SPACE] = NEXT(SPACES, NONE), [GROUP_LINE] = NEXT(LINES, NONE), \
	[GROUP_PUNCT] = NEXT(PUNCT, NONE), [GROUP_AGAIN] = NEXT(PUNCT, NONE)

/* Moves in a word of kind `p`; a capital starts a piece of kind `hump` at the cost of `row`. */
#define WORD(p, hump, row) \
	[PIECE_##p] = { [GROUP_LOWER] = SAME(p, p), [GROUP_UPPER] = NEXT(hump, row), WORD_ENDS }, \
	[PIECE_##p##_UPPER] = { \
		[GROUP_LOWER] = SAME(p, p), [GROUP_UPPER] = SAME(CAPITALS, CAPITALS), WORD_ENDS \
	}

/* A piece has up to three digits. */
#define DIGITS_THEN(n, move) \
	[PIECE_DIGIT_##n] = { \
		[GROUP_DIGIT] = move, [GROUP_WIDE] = NEXT(WIDE, NONE), \
		[GROUP_LOWER] = NEXT(MIXED, NONE), [GROUP_UPPER] = NEXT(MIXED_UPPER, NONE), \
		[GROUP_SPACE] = NEXT(SPACES, NONE), [GROUP_LINE] = NEXT(LINES, NONE), \
		[GROUP_PUNCT] = NEXT(PUNCT, NONE), [GROUP_AGAIN] = NEXT(PUNCT, NONE) \
	}

/* Moves where no piece can continue. */
#define NOTHING \
	{ [GROUP_LOWER] = NEXT(BARE, NONE), [GROUP_UPPER] = NEXT(BARE_UPPER, NONE), WORD_ENDS }

static const struct move moves[PIECES][GROUPS] = {
	[PIECE_NONE] = NOTHING,
	[PIECE_WIDE] = NOTHING,
	WORD(SPACED, JOINED_UPPER, HUMP),
	WORD(BARE, JOINED_UPPER, HUMP),
	WORD(JOINED, MIXED_UPPER, MIXED_HUMP),
	WORD(MIXED, MIXED_UPPER, MIXED_HUMP),
	[PIECE_CAPITALS] = { [GROUP_LOWER] = SAME(JOINED, CAPITALS_LOWER),
			     [GROUP_UPPER] = SAME(CAPITALS, CAPITALS), WORD_ENDS },
	DIGITS_THEN(1, SAME(DIGIT_2, DIGITS)),
	DIGITS_THEN(2, SAME(DIGIT_3, DIGITS)),
	DIGITS_THEN(3, NEXT(DIGIT_1, DIGITS)),
	[PIECE_SPACES] = {
		[GROUP_LOWER] = NEXT(SPACED, SPACES_WORD),
		[GROUP_UPPER] = NEXT(SPACED_UPPER, SPACES_WORD),
		[GROUP_WIDE] = NEXT(WIDE, NONE), [GROUP_DIGIT] = NEXT(DIGIT_1, SPACES_WORD),
		[GROUP_SPACE] = SAME(SPACES, SPACES), [GROUP_LINE] = NEXT(LINES, SPACES_LINE),
		[GROUP_PUNCT] = NEXT(PUNCT, SPACES_WORD), [GROUP_AGAIN] = NEXT(PUNCT, SPACES_WORD),
	},
	[PIECE_LINES] = {
		[GROUP_LOWER] = NEXT(BARE, NONE), [GROUP_UPPER] = NEXT(BARE_UPPER, NONE),
		[GROUP_WIDE] = NEXT(WIDE, NONE), [GROUP_DIGIT] = NEXT(DIGIT_1, NONE),
		[GROUP_SPACE] = NEXT(SPACES, LINES_SPACES), [GROUP_LINE] = SAME(LINES, LINES),
		[GROUP_PUNCT] = NEXT(PUNCT, NONE), [GROUP_AGAIN] = NEXT(PUNCT, NONE),
	},
	[PIECE_PUNCT] = {
		[GROUP_LOWER] = NEXT(BARE, PUNCT_WORD),
		[GROUP_UPPER] = NEXT(BARE_UPPER, PUNCT_WORD),
		[GROUP_WIDE] = NEXT(WIDE, NONE), [GROUP_DIGIT] = NEXT(DIGIT_1, NONE),
		[GROUP_SPACE] = NEXT(SPACES, NONE), [GROUP_LINE] = NEXT(LINES, PUNCT_LINE),
		[GROUP_PUNCT] = SAME(PUNCT, PUNCT), [GROUP_AGAIN] = SAME(PUNCT, AGAIN),
	},
};
/* clang-format on */

/* The first code point of each range of a script, in order. */
static const struct {
	uint32_t first;
	uint8_t script;
} scripts[] = {
	{ 0x80, SCRIPT_SYMBOL },      { 0xc0, SCRIPT_LATIN },	    { 0x250, SCRIPT_OTHER },
	{ 0x370, SCRIPT_GREEK },      { 0x400, SCRIPT_CYRILLIC },   { 0x452, SCRIPT_CYRILLIC_FAR },
	{ 0x530, SCRIPT_ARMENIAN },   { 0x590, SCRIPT_HEBREW },	    { 0x600, SCRIPT_ARABIC },
	{ 0x780, SCRIPT_OTHER },      { 0x900, SCRIPT_DEVANAGARI }, { 0x980, SCRIPT_BENGALI },
	{ 0xa00, SCRIPT_GURMUKHI },   { 0xa80, SCRIPT_GUJARATI },   { 0xb00, SCRIPT_INDIC },
	{ 0xb80, SCRIPT_TAMIL },      { 0xc00, SCRIPT_TELUGU },	    { 0xc80, SCRIPT_KANNADA },
	{ 0xd00, SCRIPT_MALAYALAM },  { 0xd80, SCRIPT_INDIC },	    { 0xe00, SCRIPT_THAI },
	{ 0xe80, SCRIPT_SOUTHEAST },  { 0xf00, SCRIPT_OTHER },	    { 0x1000, SCRIPT_SOUTHEAST },
	{ 0x10a0, SCRIPT_GEORGIAN },  { 0x1100, SCRIPT_HANGUL },    { 0x1200, SCRIPT_ETHIOPIC },
	{ 0x13a0, SCRIPT_OTHER },     { 0x1780, SCRIPT_SOUTHEAST }, { 0x1800, SCRIPT_OTHER },
	{ 0x1e00, SCRIPT_LATIN_FAR }, { 0x1f00, SCRIPT_GREEK },	    { 0x2000, SCRIPT_PUNCT },
	{ 0x2070, SCRIPT_SYMBOL },    { 0x2500, SCRIPT_BOX },	    { 0x25a0, SCRIPT_SYMBOL },
	{ 0x2c00, SCRIPT_OTHER },     { 0x2e80, SCRIPT_HAN },	    { 0x3000, SCRIPT_CJK_PUNCT },
	{ 0x3040, SCRIPT_KANA },      { 0x3100, SCRIPT_HAN },	    { 0xa000, SCRIPT_OTHER },
	{ 0xac00, SCRIPT_HANGUL },    { 0xd800, SCRIPT_OTHER },	    { 0xf900, SCRIPT_HAN },
	{ 0xfb00, SCRIPT_ARABIC },    { 0xfe00, SCRIPT_EMOJI },	    { 0xfe70, SCRIPT_ARABIC },
	{ 0xff00, SCRIPT_CJK_PUNCT }, { 0xfff0, SCRIPT_INVALID },   { 0x10000, SCRIPT_OTHER },
	{ 0x1f000, SCRIPT_EMOJI },    { 0x20000, SCRIPT_HAN },	    { 0xe0000, SCRIPT_OTHER },
};

static uint8_t script_of(uint32_t code)
{
	size_t n = OFS_BISECT(i, OFS_ARRAY_SIZE(scripts), scripts[i].first <= code);

	return scripts[n - 1].script;
}

void ofs_tokens_init(struct ofs_tokens *t)
{
	memset(t, 0, sizeof(*t));
	t->piece = PIECE_NONE;
	t->last = LAST_START;
}

/* Counts one character, given by its byte or stand-in. */
static inline void step(struct ofs_tokens *t, uint8_t byte)
{
	const struct byte *now = &bytes[byte], *last = &bytes[t->last];
	bool again = now == last;
	struct move m = moves[t->piece][now->group[again]];

	t->cost += (uint64_t)class_cost[last->class[0]][now->class[again]] +
		   row_cost[m.row][t->at] + letter_cost[last->letter][now->letter];
	t->piece = m.piece;
	t->at &= m.keeps;
	t->at += t->at < FAR - 1;
	t->last = byte;
}

/* Counts one character outside ASCII, or an invalid sequence of bytes. */
static void step_wide(struct ofs_tokens *t, uint8_t script)
{
	if (script == SCRIPT_LATIN || script == SCRIPT_LATIN_FAR) {
		step(t, script == SCRIPT_LATIN ? LAST_ACCENT : LAST_ACCENT_FAR);
		return;
	}
	if (t->piece != PIECE_WIDE || t->script != script) {
		t->cost += wide_after_cost[bytes[t->last].class[0]];
		t->at = 0;
	}
	t->cost += script_cost[script][t->at];
	t->piece = PIECE_WIDE;
	t->script = script;
	t->at = (uint8_t)OFS_MIN(t->at + 1, FAR - 1);
	t->last = LAST_WIDE;
}

/* Starts a character outside ASCII with its first byte. */
static void begin_wide(struct ofs_tokens *t, uint8_t byte)
{
	t->low = 0x80;
	t->high = 0xbf;
	if (byte >= 0xc2 && byte <= 0xdf) {
		t->missing = 1;
		t->code = byte & 0x1f;
	} else if (byte >= 0xe0 && byte <= 0xef) {
		t->missing = 2;
		t->code = byte & 0xf;
		t->low = byte == 0xe0 ? 0xa0 : 0x80;
		t->high = byte == 0xed ? 0x9f : 0xbf;
	} else if (byte >= 0xf0 && byte <= 0xf4) {
		t->missing = 3;
		t->code = byte & 0x7;
		t->low = byte == 0xf0 ? 0x90 : 0x80;
		t->high = byte == 0xf4 ? 0x8f : 0xbf;
	} else {
		step_wide(t, SCRIPT_INVALID);
	}
}

/* Takes a further byte of an unfinished character; false if the byte does not belong to it. */
static bool continue_wide(struct ofs_tokens *t, uint8_t byte)
{
	if (byte < t->low || byte > t->high) {
		t->missing = 0;
		step_wide(t, SCRIPT_INVALID);
		return false;
	}
	t->code = t->code << 6 | (byte & 0x3f);
	t->low = 0x80;
	t->high = 0xbf;
	if (--t->missing == 0)
		step_wide(t, script_of(t->code));
	return true;
}

/* Counts ASCII characters and returns the address of the first byte outside ASCII, or `end`. */
static const uint8_t *step_ascii(struct ofs_tokens *t, const uint8_t *p, const uint8_t *end)
{
	struct ofs_tokens now = *t; /* a copy that can live in registers */

	for (; p < end && *p <= ASCII_LAST; p++)
		step(&now, *p);
	*t = now;
	return p;
}

void ofs_tokens_add(struct ofs_tokens *t, const void *data, size_t len)
{
	const uint8_t *p = data, *end;

	if (len == 0)
		return;
	end = p + len;
	t->begun = 1;
	while (p < end) {
		if (t->missing > 0)
			p += continue_wide(t, *p);
		else if (*p > ASCII_LAST)
			begin_wide(t, *p++);
		else
			p = step_ascii(t, p, end);
	}
}

uint64_t ofs_tokens_total(const struct ofs_tokens *t)
{
	uint64_t tokens = (t->cost + COST_ONE / 2) / COST_ONE;

	return OFS_MAX(tokens, (uint64_t)t->begun);
}

uint64_t ofs_tokens_count(const void *data, size_t len)
{
	struct ofs_tokens t;

	ofs_tokens_init(&t);
	ofs_tokens_add(&t, data, len);
	return ofs_tokens_total(&t);
}

uint64_t ofs_tokens_estimate(const void *data, size_t len, uint64_t size)
{
	uint64_t tokens;

	if (!len)
		return size / 4 + (size % 4 != 0);
	tokens = ofs_tokens_count(data, len);
	return len < size ? (uint64_t)((double)tokens / (double)len * (double)size) : tokens;
}
