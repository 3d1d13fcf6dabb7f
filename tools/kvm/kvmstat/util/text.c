// SPDX-License-Identifier: GPL-2.0
/*
 * Text in UTF-8. Which characters are printable does not depend on the locale: the broker has none,
 * and files keep names.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/text.h"
#include "util/util.h"

unsigned int text_decode(const char *text, wchar_t *character)
{
	/* The smallest character per number of bytes: a smaller one would have two encodings. */
	static const wchar_t least[] = { 0, 0, 0x80, 0x800, 0x10000, };
	unsigned char lead = *text;
	unsigned int length, i;

	*character = lead;
	if (lead < 0x80)
		return lead != 0;
	length = lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
	*character = lead & (0x7f >> length);
	for (i = 1; i < length && (text[i] & 0xc0) == 0x80; i++)
		*character = *character << 6 | (text[i] & 0x3f);
	if (length && i == length && *character >= least[length] && *character <= 0x10ffff &&
	    (*character < 0xd800 || *character > 0xdfff))
		return length;
	*character = L'?';
	return 1;
}

/* False for control characters, invisible ones, and ones that change the order of others. */
static bool is_printable(wchar_t character)
{
	static const struct {
		wchar_t first, last;
	} others[] = {
		{ 0, 0x1f, }, { 0x7f, 0x9f, }, { 0xad, 0xad, }, { 0x61c, 0x61c, },
		{ 0x180e, 0x180e, }, { 0x200b, 0x200f, }, { 0x2028, 0x202e, },
		{ 0x2060, 0x206f, }, { 0xfeff, 0xfeff, }, { 0xfff0, 0xfffb, },
		{ 0xfffe, 0xffff, }, { 0xe0000, 0x10ffff, },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (character >= others[i].first && character <= others[i].last)
			return false;
	}
	return true;
}

void text_make_printable(char *text)
{
	char *out = text;
	wchar_t character;
	unsigned int length;

	for (; (length = text_decode(text, &character)); text += length) {
		if (!is_printable(character) || (length == 1 && *text & 0x80)) {
			*out++ = '?';
		} else {
			memmove(out, text, length);
			out += length;
		}
	}
	*out = '\0';
}

bool text_ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

unsigned int text_character_width(wchar_t character)
{
	int width = wcwidth(character);

	/* If the locale does not know the character, the terminal shows a replacement. */
	return width < 0 ? 1 : width;
}

unsigned int text_width(const char *text)
{
	unsigned int width = 0, length;
	wchar_t character;

	for (; (length = text_decode(text, &character)); text += length)
		width += text_character_width(character);
	return width;
}

/* Returns the bytes of the longest prefix that fits, and the remaining columns in *@width. */
static int beginning(const char *text, unsigned int *width)
{
	unsigned int length, needed;
	const char *end = text;
	wchar_t character;

	for (; (length = text_decode(end, &character)); end += length) {
		needed = text_character_width(character);
		if (needed > *width)
			break;
		*width -= needed;
	}
	return end - text;
}

char *text_fit(const char *text, unsigned int width)
{
	unsigned int used = text_width(text);
	const char *end = text;
	wchar_t character;
	int length;

	if (used <= width)
		return xasprintf("%s%*s", text, (int)(width - used), "");
	if (!width)
		return xasprintf("%s", "");
	while (text_width(end) > width / 2)
		end += text_decode(end, &character);
	width -= 1 + text_width(end);
	length = beginning(text, &width);
	/* A wide character may leave one column unused. */
	return xasprintf("%.*s~%s%*s", length, text, end, (int)width, "");
}

/* The bytes that fit if the line breaks after @gap; 0 if no @gap fits. */
static size_t break_at(const char *text, const char *gap, size_t room)
{
	const char *next = text;
	size_t end = 0;

	while ((next = strstr(next, gap))) {
		next += strlen(gap);
		/* The blank at the end is not printed. */
		if ((size_t)(next - 1 - text) > room)
			break;
		end = next - text;
	}
	return end;
}

static size_t first_line(const char *text, unsigned int width)
{
	size_t room, end;

	if (text_width(text) <= width)
		return strlen(text);
	room = beginning(text, &width);
	end = break_at(text, ", ", room);
	if (!end)
		end = break_at(text, " ", room);
	/* A word that is longer than the line. */
	if (!end) {
		end = strcspn(text, " ");
		end += strspn(text + end, " ");
	}
	return end;
}

/* Prints text. In a locale without UTF-8, replaces characters beyond ASCII. */
static void print_text(FILE *out, const char *text, size_t size)
{
	const char *end = text + size;
	unsigned int length;
	wchar_t character;

	for (; text < end; text += length) {
		length = text_decode(text, &character);
		if (character >= 0x80 && MB_CUR_MAX == 1)
			fputc('?', out);
		else
			fwrite(text, 1, length, out);
	}
}

size_t print_wrapped(FILE *out, const char *text, unsigned int width, unsigned int indent)
{
	size_t length, end;

	for (;;) {
		length = first_line(text, width);
		end = length;
		while (end && text[end - 1] == ' ')
			end--;
		print_text(out, text, end);
		text += length;
		if (!*text)
			return length - end;
		fprintf(out, "\n%*s", (int)indent, "");
	}
}

#define PREFIX "kvmstat: "
/* A terminal with less room gets one line. */
#define LEAST_WIDTH 16

static void (*print_line)(const char *text);

/* Wraps only on a terminal, not in a log. Allocates nothing: the error may be lack of memory. */
static void print_complaint(const char *text)
{
	const unsigned int indent = strlen(PREFIX);
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ||
	    size.ws_col < indent + LEAST_WIDTH) {
		print_line(text);
		return;
	}
	fflush(stdout);
	fprintf(stderr, PREFIX);
	print_wrapped(stderr, text, size.ws_col - indent, indent);
	fputc('\n', stderr);
}

void wrap_errors(void)
{
	print_line = error_printer;
	error_printer = print_complaint;
}
