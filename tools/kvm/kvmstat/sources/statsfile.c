// SPDX-License-Identifier: GPL-2.0
/* Opens and maps a KVM statistics file, and reads its values. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/statsfile_parse.h"

/* If loading a value takes two loads, it could be half updated: then map nothing. */
#if __GCC_ATOMIC_LLONG_LOCK_FREE == 2
#define HAS_LOAD true
#define load_value(value) __atomic_load_n(value, __ATOMIC_RELAXED)
#else
#define HAS_LOAD false
#define load_value(value) (*(value))
#endif

bool statsfile_may_be_kvms(int fd)
{
	struct stat info;

	return !fstat(fd, &info) && !(info.st_mode & S_IFMT) &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

/* Reading a mapping of a truncated file raises SIGBUS. KVM's files cannot be truncated. */
static bool is_safe_to_map(const struct statsfile_source *source)
{
	if (source->fd < 0 || !HAS_LOAD)
		return false;
	if (source->access == STATSFILE_AUTO)
		return statsfile_may_be_kvms(source->fd);
	return source->access == STATSFILE_MMAP;
}

/* Maps a part of the file; NULL if the kernel refuses it. */
static const void *map_part(int fd, uint64_t start, uint64_t size)
{
	void *part;

	if (!size || (size_t)size != size)
		return NULL;
	part = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, start);
	return part == MAP_FAILED ? NULL : part;
}

static size_t data_size(const struct statsfile *file)
{
	return file->schema->num_values * VALUE_SIZE;
}

static size_t windows_size(const struct statsfile *file)
{
	return (size_t)file->vcpu_max * file->vcpu_stride;
}

/* Reads nothing from the mapping: a window without a vCPU would raise SIGBUS. */
static int map(struct statsfile *file, const struct statsfile_layout *layout,
	       struct statsfile_error *error)
{
	const struct kvm_stats_ext *ext = &layout->ext;
	int ret;

	if (!statsfile_has_data_size(ext) || !is_safe_to_map(&file->source))
		return 0;
	ret = statsfile_check_pages(layout, sysconf(_SC_PAGESIZE), error);
	if (ret)
		return ret;
	file->data = map_part(file->source.fd, file->data_offset, data_size(file));
	if (file->data)
		file->windows = map_part(file->source.fd, ext->vcpu_mmap_offset,
					 ext->vcpu_max * (uint64_t)ext->vcpu_stride);
	return 0;
}

static void discard(struct statsfile *file)
{
	free(file->id);
	if (file->data && !file->is_view)
		munmap((void *)file->data, data_size(file));
	if (file->windows && !file->is_view)
		munmap((void *)file->windows, windows_size(file));
	statsfile_schema_put(file->schema);
	statsfile_schema_put(file->vcpu_schema);
}

int statsfile_open(struct statsfile *file, const struct statsfile_source *source,
		   const struct statsfile_known *known, struct statsfile_error *error)
{
	struct statsfile_layout layout = {};
	int ret;

	*file = (struct statsfile) { .source = *source };
	ret = statsfile_parse(file, &layout, known, error);
	if (!ret)
		ret = map(file, &layout, error);
	if (ret) {
		discard(file);
		*file = (struct statsfile) { .source.fd = -1 };
	}
	return ret;
}

static void load_values(uint64_t *values, const uint64_t *from, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		values[i] = load_value(&from[i]);
}

int statsfile_read_some(const struct statsfile *file, unsigned int first, unsigned int count,
			uint64_t *values, struct statsfile_error *error)
{
	struct statsfile_block data = {
		.name = "data block",
		.start = file->data_offset + first * (uint64_t)VALUE_SIZE,
		.size = count * (uint64_t)VALUE_SIZE,
	};

	if (!file->data)
		return statsfile_read_block(&file->source, &data, values, error);
	load_values(values, file->data + first, count);
	return 0;
}

int statsfile_read(const struct statsfile *file, uint64_t *values,
		   struct statsfile_error *error)
{
	return statsfile_read_some(file, 0, file->schema->num_values, values, error);
}

uint32_t statsfile_online_vcpus(const struct statsfile *file)
{
	uint64_t online_vcpus;

	if (!file->windows)
		return 0;
	if (file->is_view)
		return file->vcpu_max;
	online_vcpus = load_value(&file->data[file->online_vcpus]);
	/* Pairs with the kernel, which writes a vCPU's values and id before it counts the vCPU. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return online_vcpus < file->vcpu_max ? online_vcpus : file->vcpu_max;
}

/* The values of a vCPU; NULL and @error if the vCPU does not exist. */
static const uint64_t *find_window(const struct statsfile *file, uint32_t index,
				   struct statsfile_error *error)
{
	size_t offset = (size_t)index * file->vcpu_stride;
	uint32_t online_vcpus = statsfile_online_vcpus(file);

	/* A window without its vCPU would raise SIGBUS. */
	if (index >= online_vcpus) {
		statsfile_fail(error, -EINVAL, "vCPU %u of %u", index, online_vcpus);
		return NULL;
	}
	return (const uint64_t *)(file->windows + offset);
}

int statsfile_read_some_of_vcpu(const struct statsfile *file, uint32_t index,
				unsigned int first, unsigned int count, uint64_t *values,
				struct statsfile_error *error)
{
	const uint64_t *window = find_window(file, index, error);

	if (!window)
		return -EINVAL;
	load_values(values, window + first, count);
	return 0;
}

int statsfile_read_vcpu(const struct statsfile *file, uint32_t index, uint64_t *values,
			struct statsfile_error *error)
{
	return statsfile_read_some_of_vcpu(file, index, 0, file->vcpu_schema->num_values,
					   values, error);
}

int statsfile_add_vcpu(const struct statsfile *file, uint32_t index, uint64_t *sums,
		       struct statsfile_error *error)
{
	const uint64_t *window = find_window(file, index, error);
	const uint64_t *end;

	if (!window)
		return -EINVAL;
	/* Unrolled, because the loop itself costs as much as one addition. */
	end = window + file->vcpu_schema->num_values;
	for (; end - window >= 4; window += 4, sums += 4) {
		sums[0] += load_value(&window[0]);
		sums[1] += load_value(&window[1]);
		sums[2] += load_value(&window[2]);
		sums[3] += load_value(&window[3]);
	}
	for (; window < end; window++)
		*sums++ += load_value(window);
	return 0;
}

void statsfile_release_vcpus(const struct statsfile *file)
{
	if (file->windows && !file->is_view)
		madvise((void *)file->windows, windows_size(file), MADV_DONTNEED);
}

int statsfile_read_vcpu_ids(const struct statsfile *file, uint32_t first, uint32_t count,
			    uint32_t *ids, struct statsfile_error *error)
{
	struct statsfile_block block = {
		.name = "vCPU id block",
		.start = file->vcpu_id_offset + first * (uint64_t)sizeof(*ids),
		.size = count * (uint64_t)sizeof(*ids),
	};

	if (first > file->vcpu_max || count > file->vcpu_max - first)
		return statsfile_fail(error, -EINVAL, "ids of vCPUs %u to %llu, of %u", first,
				      (unsigned long long)first + count, file->vcpu_max);
	return statsfile_read_block(&file->source, &block, ids, error);
}

void statsfile_view(struct statsfile *file, char *id, struct statsfile_schema *schema,
		    struct statsfile_schema *vcpu_schema, const uint64_t *values,
		    uint32_t num_vcpus)
{
	if (!file->schema) {
		*file = (struct statsfile) { .source.fd = -1, .is_view = true, .id = id, };
		file->schema = statsfile_schema_get(schema);
	}
	if (!file->vcpu_schema && vcpu_schema) {
		file->vcpu_schema = statsfile_schema_get(vcpu_schema);
		file->vcpu_stride = vcpu_schema->num_values * VALUE_SIZE;
	}
	file->data = values;
	file->vcpu_max = num_vcpus;
	file->windows = num_vcpus ? (const char *)(values + schema->num_values) : NULL;
}

void statsfile_close(struct statsfile *file)
{
	discard(file);
	if (file->source.fd >= 0)
		close(file->source.fd);
	*file = (struct statsfile) { .source.fd = -1 };
}
