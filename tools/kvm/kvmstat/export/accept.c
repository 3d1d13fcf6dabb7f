// SPDX-License-Identifier: GPL-2.0
/*
 * The headers Accept and Accept-Encoding: "TYPE;NAME=VALUE;q=QUALITY, ...".
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "export/accept.h"
#include "util/util.h"

/* Qualities have three decimals. */
#define MAX_QUALITY 1000

struct word {
	const char *text;
	size_t length;
};

/* Up to one of these characters, or the end, without the blanks around it. */
static struct word next_word(const char **text, const char *ends)
{
	struct word word = { .text = *text + strspn(*text, " \t"), };

	word.length = strcspn(word.text, ends);
	*text = word.text + word.length;
	while (word.length && strchr(" \t", word.text[word.length - 1]))
		word.length--;
	return word;
}

static bool word_is(const struct word *word, const char *text)
{
	return word->length == strlen(text) && !strncasecmp(word->text, text, word->length);
}

/* What is not a quality is none: the client does not get what it may not have meant. */
static unsigned int parse_quality(const struct word *word)
{
	unsigned int quality, scale = MAX_QUALITY;
	size_t i;

	if (!word->length || (word->text[0] != '0' && word->text[0] != '1'))
		return 0;
	quality = (word->text[0] - '0') * scale;
	if (word->length > 1 && word->text[1] != '.')
		return 0;
	for (i = 2; i < word->length; i++) {
		if (word->text[i] < '0' || word->text[i] > '9')
			return 0;
		scale /= 10;
		quality += (word->text[i] - '0') * scale;
	}
	return quality <= MAX_QUALITY ? quality : 0;
}

struct range {
	struct word type;
	unsigned int quality;
	bool other_version;		/* than is there */
};

static void parse_parameter(struct range *range, const char **text)
{
	struct word name = next_word(text, "=;,");
	struct word value = {};

	if (**text == '=') {
		++*text;
		value = next_word(text, ";,");
	}
	if (word_is(&name, "q"))
		range->quality = parse_quality(&value);
	else if (word_is(&name, "version"))
		range->other_version = !word_is(&value, "1.0.0") && !word_is(&value, "\"1.0.0\"");
}

static struct range parse_range(const char **text)
{
	struct range range = {
		.type = next_word(text, ";,"),
		.quality = MAX_QUALITY,
	};

	while (**text == ';') {
		++*text;
		parse_parameter(&range, text);
	}
	return range;
}

static void raise_to(unsigned int *quality, unsigned int to)
{
	if (*quality < to)
		*quality = to;
}

/* What text/plain is meant by: the first of those that the client names counts. */
static const char * const names_of_text[] = { "text/plain", "text/*", "*/*" };

struct text_ranges {
	bool is_named[ARRAY_SIZE(names_of_text)];
	unsigned int quality[ARRAY_SIZE(names_of_text)];
};

static void add_text(struct text_ranges *ranges, const struct range *range)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names_of_text); i++) {
		if (!word_is(&range->type, names_of_text[i]))
			continue;
		ranges->is_named[i] = true;
		raise_to(&ranges->quality[i], range->quality);
	}
}

static unsigned int quality_of_text(const struct text_ranges *ranges)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names_of_text); i++) {
		if (ranges->is_named[i])
			return ranges->quality[i];
	}
	return 0;
}

enum exposition_format choose_format(const char *accept)
{
	struct text_ranges text = {};
	unsigned int openmetrics = 0;
	struct range range;

	while (accept && *accept) {
		range = parse_range(&accept);
		if (*accept == ',')
			accept++;
		add_text(&text, &range);
		if (word_is(&range.type, "application/openmetrics-text") && !range.other_version)
			raise_to(&openmetrics, range.quality);
	}
	return openmetrics && openmetrics >= quality_of_text(&text) ? FORMAT_OPENMETRICS :
								      FORMAT_PROMETHEUS;
}

bool accepts_gzip(const char *encodings)
{
	bool gzip = false, any = false, is_named = false;
	struct range range;

	while (encodings && *encodings) {
		range = parse_range(&encodings);
		if (*encodings == ',')
			encodings++;
		if (word_is(&range.type, "gzip") || word_is(&range.type, "x-gzip")) {
			gzip |= range.quality != 0;
			is_named = true;
		} else if (word_is(&range.type, "*")) {
			any = range.quality;
		}
	}
	return is_named ? gzip : any;
}
