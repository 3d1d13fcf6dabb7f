// SPDX-License-Identifier: GPL-2.0
/* Fields of an identity, and checks of their text. */
#include <ctype.h>
#include <string.h>

#include "sources/identity_subject.h"
#include "util/text.h"

/* The number of bytes that fit, without a part of a character at the end. */
static size_t fitting(const char *text, size_t size)
{
	size_t length = strnlen(text, size + 1), lead;

	if (length <= size)
		return length;
	/* At most three bytes continue a character. */
	for (lead = size; lead > size - 4; lead--) {
		if (((unsigned char)text[lead] & 0xc0) != 0x80)
			return lead;
	}
	return size;
}

void identity_set(struct identity *identity, enum identity_field field,
		  enum identity_source source, const char *text)
{
	char *copy = identity->text[field];
	size_t length;

	if (!*text || identity->source[field] >= source)
		return;
	length = fitting(text, TEXT_NAME_SIZE - 1);
	memcpy(copy, text, length);
	copy[length] = '\0';
	text_make_printable(copy);
	identity->source[field] = source;
}

bool identity_has(const struct identity *identity, enum identity_field field)
{
	return identity->source[field] != IDENTITY_NONE;
}

bool has_only(const char *text, size_t most, const char *allowed)
{
	size_t length = strlen(text);

	return length && length <= most && strspn(text, allowed) == length;
}

const char *skip_prefix(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) ? NULL : text + length;
}

bool parse_uuid(const char *text, char *uuid)
{
	size_t length = 0;

	for (; *text && length < UUID_LENGTH; text++) {
		if (length == 8 || length == 13 || length == 18 || length == 23) {
			uuid[length++] = '-';
			if (*text == '-')
				continue;
		}
		if (!isascii((unsigned char)*text) || !isxdigit((unsigned char)*text))
			return false;
		uuid[length++] = tolower((unsigned char)*text);
	}
	uuid[length] = '\0';
	return length == UUID_LENGTH && !*text;
}

void identity_set_uuid(struct identity *identity, enum identity_source source, const char *text)
{
	char uuid[UUID_LENGTH + 1];

	if (parse_uuid(text, uuid))
		identity_set(identity, IDENTITY_UUID, source, uuid);
}

void identity_of_name(struct identity *identity, const char *name)
{
	*identity = (struct identity) {};
	identity_set(identity, IDENTITY_NAME, IDENTITY_COMMAND_LINE, name);
}

const char *identity_label(enum identity_field field)
{
	static const char * const labels[IDENTITY_FIELDS] = {
		[IDENTITY_NAME] = "name",
		[IDENTITY_UUID] = "uuid",
		[IDENTITY_DOMAIN] = "libvirt_domain",
		[IDENTITY_MACHINE] = "machine",
		[IDENTITY_NAMESPACE] = "kubevirt_namespace",
		[IDENTITY_VMI] = "kubevirt_vmi",
		[IDENTITY_POD] = "pod_uid",
	};

	return labels[field];
}

bool identity_is_valid(const struct identity *identity)
{
	char text[TEXT_NAME_SIZE];
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		memcpy(text, identity->text[i], sizeof(text));
		if (text[TEXT_NAME_SIZE - 1] || identity->source[i] > IDENTITY_RUN ||
		    !text[0] != !identity->source[i])
			return false;
		text_make_printable(text);
		if (strcmp(text, identity->text[i]))
			return false;
	}
	return true;
}
