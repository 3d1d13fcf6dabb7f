// SPDX-License-Identifier: GPL-2.0
/*
 * Schemas of what has no statistics file. Such a file is made of them in memory: what the
 * parser makes of that is what others can rely on.
 */
#include <stdlib.h>
#include <string.h>

#include "sources/schema.h"
#include "util/util.h"

static size_t longer(size_t length, const char *text)
{
	return strlen(text) > length ? strlen(text) : length;
}

/* Of all that has a name or an id in the file. */
static size_t longest_name(const struct statsfile_schema *schema, const char *id)
{
	const struct statsfile_desc *desc;
	size_t longest = strlen(id);
	unsigned int i;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		longest = longer(longest, desc->name);
		for (i = 0; i < desc->num_value_names; i++)
			longest = longer(longest, desc->value_names[i].name);
	}
	return longest;
}

static void write_descriptors(unsigned char *to, const struct kvm_stats_header *header,
			      const struct statsfile_schema *schema)
{
	size_t stride = sizeof(struct kvm_stats_desc) + header->name_size;
	const struct statsfile_desc *desc;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++, to += stride) {
		const struct kvm_stats_desc packed = {
			.flags = desc->flags,
			.exponent = desc->exponent,
			.size = desc->size,
			.offset = desc->first * sizeof(uint64_t),
			.bucket_size = desc->bucket_size,
		};

		memcpy(to, &packed, sizeof(packed));
		memcpy(to + sizeof(packed), desc->name, strlen(desc->name));
	}
}

static void write_value_names(unsigned char *to, uint32_t stride,
			      const struct statsfile_schema *schema)
{
	const struct statsfile_desc *desc;
	unsigned int i;

	for (desc = schema->desc; desc < schema->desc + schema->num_desc; desc++) {
		for (i = 0; i < desc->num_value_names; i++, to += stride) {
			const struct statsfile_value_name *name = &desc->value_names[i];
			const struct kvm_stats_value_name packed = {
				.desc = desc - schema->desc,
				.value = name->value,
			};

			memcpy(to, &packed, sizeof(packed));
			memcpy(to + sizeof(packed), name->name, strlen(name->name));
		}
	}
}

/* The extension block makes a promise: the data can be mapped, so it begins with a page. */
#define PAGE 4096u

struct statsfile_source schema_file(const struct statsfile_schema *schema, const char *id)
{
	struct kvm_stats_header header = {
		.flags = KVM_STATS_HEADER_EXT,
		/* With the 0 behind, rounded up to 8 bytes. */
		.name_size = (longest_name(schema, id) + 8) / 8 * 8,
		.num_desc = schema->num_desc,
		.id_offset = sizeof(header),
	};
	struct kvm_stats_ext ext = {
		.size = sizeof(ext),
		.magic = KVM_STATS_EXT_MAGIC,
		.data_size = schema->num_values * sizeof(uint64_t),
		.value_name_num = schema->num_value_names,
		.value_name_size = sizeof(struct kvm_stats_value_name) + header.name_size,
	};
	struct statsfile_source file = { .fd = -1, };
	unsigned char *bytes;

	header.desc_offset = header.id_offset + header.name_size + sizeof(ext);
	ext.value_name_offset = header.desc_offset + header.num_desc *
				(sizeof(struct kvm_stats_desc) + header.name_size);
	header.data_offset = ext.value_name_offset + ext.value_name_num * ext.value_name_size;
	header.data_offset = (header.data_offset + PAGE - 1) / PAGE * PAGE;
	file.size = header.data_offset + ext.data_size;
	bytes = xcalloc(file.size, 1);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + header.id_offset, id, strlen(id));
	memcpy(bytes + header.id_offset + header.name_size, &ext, sizeof(ext));
	write_descriptors(bytes + header.desc_offset, &header, schema);
	write_value_names(bytes + ext.value_name_offset, ext.value_name_size, schema);
	file.memory = bytes;
	return file;
}

int schema_make(struct statsfile_schema **schema, const struct statsfile_schema *described,
		const struct statsfile_known *known, struct statsfile_error *error)
{
	struct statsfile_source source = schema_file(described, "-");
	struct statsfile file;
	int ret;

	ret = statsfile_open(&file, &source, known, error);
	if (!ret) {
		*schema = statsfile_schema_get(file.schema);
		statsfile_close(&file);
	}
	free((void *)source.memory);
	return ret;
}
