/* SPDX-License-Identifier: MIT */
#include "cli/top_screen.h"

#if !HAVE_NCURSES

int ofs_screen_open(struct ofs_error *err)
{
	return ofs_error_set(err, EOPNOTSUPP,
			     "this build has no view: --json prints the same as JSON, --once as "
			     "text");
}

void ofs_screen_close(void)
{
}

void ofs_screen_resize(void)
{
}

void ofs_screen_canvas(struct ofs_canvas *ret)
{
	*ret = (struct ofs_canvas){ 0 };
}

void ofs_screen_show(const struct ofs_canvas *c)
{
}

uint32_t ofs_screen_key(void)
{
	return 0;
}

#else

#define NCURSES_WIDECHAR 1

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/top_view.h"

#define ESCAPE_MS 50 /* the rest of an escape sequence has arrived by then */

static SCREEN *screen;
static attr_t attributes[OFS_STYLES];
static short pairs[OFS_STYLES];

/* Returns true if the terminal can be drawn on. */
static bool can_draw(const char *term)
{
	int found;
	bool can;

	if (setupterm(term, STDOUT_FILENO, &found) != OK)
		return false;
	can = tigetstr("cup") && tigetstr("clear") && tigetstr("cup") != (char *)-1;
	del_curterm(cur_term);
	return can;
}

static int refuse(struct ofs_error *err, const char *term)
{
	OFS_FREE char *shown = term && *term ? ofs_text_shown(term) : NULL;

	if (shown)
		return ofs_error_set(
			err, EINVAL,
			"a terminal '%s' cannot be drawn on: --json prints the same as "
			"JSON, --once as text",
			shown);
	return ofs_error_set(err, EINVAL,
			     "TERM does not name the terminal: --json prints the same as JSON, "
			     "--once as text");
}

static void set_styles(void)
{
	static const attr_t plain[OFS_STYLES] = {
		[OFS_STYLE_PLAIN] = A_NORMAL,
		[OFS_STYLE_DIM] = A_NORMAL,
		[OFS_STYLE_BOLD] = A_BOLD,
		[OFS_STYLE_BAR] = A_REVERSE,
		[OFS_STYLE_CHOSEN] = A_BOLD | A_UNDERLINE,
		[OFS_STYLE_GOOD] = A_NORMAL,
		[OFS_STYLE_BAD] = A_REVERSE | A_BOLD,
	};
	const char *no_color = getenv("NO_COLOR");

	memcpy(attributes, plain, sizeof(attributes));
	memset(pairs, 0, sizeof(pairs));
	if ((no_color && *no_color) || !has_colors() || start_color() == ERR || COLORS < 8)
		return;
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_WHITE, COLOR_RED);
	init_pair(3, COLOR_BLACK, COLOR_CYAN);
	pairs[OFS_STYLE_GOOD] = 1;
	pairs[OFS_STYLE_BAD] = 2;
	attributes[OFS_STYLE_BAD] = A_BOLD;
	pairs[OFS_STYLE_CHOSEN] = 3;
	attributes[OFS_STYLE_CHOSEN] = A_NORMAL;
}

int ofs_screen_open(struct ofs_error *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ofs_error_set(err, ENOTTY,
				     "not on a terminal: --json prints the same as JSON, --once as "
				     "text");
	if (!term || !*term || !can_draw(term))
		return refuse(err, term);
	/* Nothing else in the program depends on the locale. */
	setlocale(LC_CTYPE, "");
	screen = newterm(term, stdout, stdin);
	if (!screen)
		return refuse(err, term);
	set_term(screen);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_styles();
	return 0;
}

void ofs_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void ofs_screen_resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

void ofs_screen_canvas(struct ofs_canvas *ret)
{
	ofs_canvas_init(ret, getmaxy(stdscr), getmaxx(stdscr),
			strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
}

void ofs_screen_show(const struct ofs_canvas *c)
{
	for (int row = 0; row < c->rows; row++) {
		for (int col = 0; col < c->cols; col++) {
			const struct ofs_cell *cell = ofs_canvas_at(c, row, col);
			wchar_t text[] = { (wchar_t)cell->c, 0 };
			cchar_t shown;

			if (cell->c && setcchar(&shown, text, attributes[cell->style],
						pairs[cell->style], NULL) == OK)
				mvadd_wch(row, col, &shown);
		}
	}
	wnoutrefresh(stdscr);
	doupdate();
}

static uint32_t translate(wint_t key)
{
	static const struct {
		wint_t curses;
		uint32_t key;
	} keys[] = { { KEY_UP, OFS_KEY_UP },	       { KEY_DOWN, OFS_KEY_DOWN },
		     { KEY_PPAGE, OFS_KEY_PAGE_UP },   { KEY_NPAGE, OFS_KEY_PAGE_DOWN },
		     { KEY_HOME, OFS_KEY_HOME },       { KEY_END, OFS_KEY_END },
		     { KEY_BTAB, OFS_KEY_BACKTAB },    { KEY_ENTER, OFS_KEY_ENTER },
		     { KEY_BACKSPACE, OFS_KEY_RUBOUT } };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return OFS_KEY_OTHER;
}

uint32_t ofs_screen_key(void)
{
	wint_t key;
	int r = get_wch(&key);

	if (r == ERR)
		return OFS_KEY_NONE;
	return r == KEY_CODE_YES ? translate(key) : (uint32_t)key;
}

#endif
