// SPDX-License-Identifier: GPL-2.0
/*
 * The parser: well-formed files, mapped and not; content that it has to ignore; and each way in
 * which a file can be malformed. The sanitizers find reads beyond the end. The fuzzer tests random
 * damage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "sandbox.h"
#include "sources/statsfile.h"
#include "tap.h"
#include "util/util.h"

/* Statistics of a VM, for tests of the extension block. */
static const struct image_stat vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_LEVEL("online_vcpus"),
	{},
};

#define ONLINE_VCPUS 1
#define VCPU_MAX 4

static const struct image_stat stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_LEVEL("pages"),
	STAT_HIST_NS("wait_hist", 32),
	{
		.name = "size_hist",
		.flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BYTES,
		.size = 4,
		.bucket_size = 64,
	},
	{},
};

/* Statistics with names of values. VM and vCPU have different ones. */
static const struct image_stat named_vm_stats[] = {
	{ .name = "remote_tlb_flush", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_LEVEL("online_vcpus"),
	STAT_STATE("mode", "", "shadow", "nested"),
	{},
};

static const struct image_stat named_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_REASONS("exit_reasons", 4, "interrupt", "io", "", "other"),
	STAT_STATE("state", "guest", "host"),
	{},
};

/* Indexes of the names of values in the file of a vCPU. */
enum { INTERRUPT, IO, OTHER, GUEST, IN_HOST, NUM_VALUE_NAMES, };

static int open_image(const struct image *image, struct statsfile *file,
		      struct statsfile_error *error)
{
	struct statsfile_source source = image_source(image);

	return statsfile_open(file, &source, NULL, error);
}

static void check_file(const struct statsfile *file, const char *name)
{
	const struct statsfile_schema *schema = file->schema;
	const struct statsfile_desc *hist = &schema->desc[3];
	uint64_t values[38] = {};
	struct statsfile_error error;

	check(!strcmp(file->id, "kvm-1/vcpu-0") && schema->num_desc == 4 &&
	      schema->num_values == 38, "%s: id and sizes", name);
	check(!strcmp(schema->desc[0].name, "exits") && schema->desc[0].size == 1 &&
	      schema->desc[0].first == 0, "%s: first descriptor", name);
	check(!strcmp(hist->name, "size_hist") && hist->first == 34 && hist->size == 4 &&
	      hist->bucket_size == 64 && statsfile_type(hist) == KVM_STATS_TYPE_LINEAR_HIST &&
	      statsfile_unit(hist) == KVM_STATS_UNIT_BYTES, "%s: last descriptor", name);
	check(statsfile_find(schema, "size_hist") == hist && !statsfile_find(schema, "size_his") &&
	      !statsfile_find(NULL, "exits"), "%s: by name", name);
	check(!statsfile_read(file, values, &error) && values[0] == 1 && values[37] == 38,
	      "%s: values", name);
}

static struct image build(void)
{
	struct image image = image_build("kvm-1/vcpu-0", stats);
	unsigned int i;

	for (i = 0; i < 38; i++)
		image_values(&image)[i] = i + 1;
	return image;
}

static void check_open_file(const struct image *image, const char *name)
{
	struct statsfile file = image_open(image);

	check_file(&file, name);
	statsfile_close(&file);
}

static void test_memory(void)
{
	struct image image = build();

	check_open_file(&image, "memory");
	image_free(&image);
}

static void test_fd(void)
{
	struct image image = build();
	struct statsfile_source source = image_to_file(&image, 0, STATSFILE_AUTO);
	struct statsfile_error error;
	struct statsfile file;

	check(!statsfile_open(&file, &source, NULL, &error), "fd: opened");
	check_file(&file, "fd");
	statsfile_close(&file);
	check(close(source.fd) && errno == EBADF, "fd: closed with the file");
	check(statsfile_open(&file, &source, NULL, &error) == -EBADF, "fd: returns pread's -errno");
	check_contains(error.text, "cannot read the header", "fd: pread's error named");
	image_free(&image);
}

/* Some files without a type are not KVM's, and reading those may have side effects. */
static void test_may_be_kvms(void)
{
	int epoll = epoll_create1(0), inotify = inotify_init();
	FILE *file = tmpfile();

	check(!statsfile_may_be_kvms(epoll), "a file without a type, for writing, is not KVM's");
	check(statsfile_may_be_kvms(inotify), "a read-only file without a type may be KVM's");
	check(!statsfile_may_be_kvms(fileno(file)), "an ordinary file is not KVM's");
	check(!statsfile_may_be_kvms(-1), "a closed descriptor is not KVM's");
	close(epoll);
	close(inotify);
	fclose(file);
}

static void test_sharing(void)
{
	struct image one = build(), same = build(), other = build();
	struct statsfile first = image_open(&one), second, third;
	struct statsfile_known known = { .vcpu = first.schema, };
	struct statsfile_source source = image_source(&same);
	struct statsfile_error error;

	memcpy(image_id(&same), "kvm-2", sizeof("kvm-2"));
	image_desc(&other, 3)->name[0] = 'x';
	check(!statsfile_open(&second, &source, &known, &error) &&
	      second.schema == first.schema && !strcmp(second.id, "kvm-2"),
	      "equal descriptors are shared");
	source = image_source(&other);
	check(!statsfile_open(&third, &source, &known, &error) &&
	      third.schema != first.schema, "different descriptors are not shared");
	statsfile_close(&first);
	check(!strcmp(second.schema->desc[0].name, "exits"),
	      "shared descriptors outlive the file that they came from");
	statsfile_close(&second);
	statsfile_close(&third);
	image_free(&one);
	image_free(&same);
	image_free(&other);
}

static struct image build_named(void)
{
	return image_build_ext("kvm-1/vcpu-0", named_stats, NULL, 0);
}

static struct image build_named_vm(void)
{
	struct image image = image_build_ext("kvm-1", named_vm_stats, named_stats, VCPU_MAX);

	image_values(&image)[0] = 7;
	return image;
}

static void check_value_name(const struct statsfile_desc *desc, uint64_t value,
			     const char *expected, const char *name)
{
	const char *found = statsfile_value_name(desc, value);

	check_text(found ? found : "none", expected, name);
}

static void check_vcpu_names(const struct statsfile_schema *schema, const char *name)
{
	const struct statsfile_desc *reasons = &schema->desc[1], *state = &schema->desc[2];

	check(schema->num_value_names == NUM_VALUE_NAMES && !schema->desc[0].num_value_names &&
	      reasons->num_value_names == 3 && state->num_value_names == 2,
	      "%s: number of names", name);
	check(reasons->value_names[OTHER].value == 3 &&
	      !strcmp(reasons->value_names[OTHER].name, "other"), "%s: in their order", name);
	check_value_name(&schema->desc[0], 0, "none", name);
	check_value_name(reasons, 0, "interrupt", name);
	check_value_name(reasons, 1, "io", name);
	check_value_name(reasons, 2, "none", name);
	check_value_name(reasons, 3, "other", name);
	check_value_name(reasons, 4, "none", name);
	check_value_name(reasons, UINT64_C(1) << 32, "none", name);
	check_value_name(state, 0, "guest", name);
	check_value_name(state, 1, "host", name);
	check_value_name(state, 2, "none", name);
}

static void test_value_names(void)
{
	struct image image = build_named(), vm_image = build_named_vm();
	struct statsfile file = image_open(&image), vm = image_open(&vm_image);
	const struct statsfile_desc *mode = &vm.schema->desc[2];
	struct statsfile_known known = { .vcpu = vm.vcpu_schema, };
	struct statsfile_source source = image_source(&image);
	struct statsfile_error error;
	struct statsfile shared;

	check_vcpu_names(file.schema, "names of a vCPU's values");
	check_vcpu_names(vm.vcpu_schema, "names of the vCPUs' values in the file of their VM");
	check(vm.schema->num_value_names == 2 && mode->num_value_names == 2,
	      "names of a VM's values: number of names");
	check_value_name(mode, 0, "none", "names of a VM's values");
	check_value_name(mode, 1, "shadow", "names of a VM's values");
	check_value_name(mode, 2, "nested", "names of a VM's values");

	check(!statsfile_open(&shared, &source, &known, &error) &&
	      shared.schema == vm.vcpu_schema, "equal descriptors and names are shared");
	statsfile_close(&shared);
	image_value_name(&image, IO)->name[0] = 'x';
	check(!statsfile_open(&shared, &source, &known, &error) &&
	      shared.schema != vm.vcpu_schema, "descriptors with another name are not shared");
	check_value_name(&shared.schema->desc[1], 1, "xo",
			 "descriptors with another name have that name");
	statsfile_close(&shared);
	image_value_name(&image, IO)->name[0] = 'i';
	image_ext(&image)->value_name_num = 0;
	check(!statsfile_open(&shared, &source, &known, &error) &&
	      shared.schema != vm.vcpu_schema, "descriptors without names are not shared");
	statsfile_close(&shared);

	statsfile_close(&file);
	statsfile_close(&vm);
	image_free(&image);
	image_free(&vm_image);
}

static const struct image_stat array_stats[] = {
	{ .name = "exits", .flags = KVM_STATS_TYPE_CUMULATIVE, },
	STAT_REASON_NS("reason_ns", 3, "io", "", "other"),
	{ .name = "pages", .flags = KVM_STATS_TYPE_INSTANT, .size = 2, },
	{ .name = "levels", .flags = KVM_STATS_TYPE_PEAK, .size = 2, },
	{},
};

static void check_array_refused(const struct image *image, const char *expected)
{
	struct statsfile_error error;
	struct statsfile file;

	check(open_image(image, &file, &error) == -EINVAL, "array: refused");
	check_contains(error.text, expected, "array: why");
}

static void test_arrays(void)
{
	struct image image = image_build_ext("kvm-1/vcpu-0", array_stats, NULL, 0);
	struct statsfile file = image_open(&image);
	const struct statsfile_desc *desc = file.schema->desc;
	uint64_t values[8] = {};
	struct statsfile_error error;

	check(file.schema->num_values == 8 && desc[1].first == 1 && desc[1].size == 3 &&
	      desc[2].first == 4 && desc[2].size == 2 && desc[3].first == 6 && desc[3].size == 2,
	      "array: of every type, with the right indexes");
	check_value_name(&desc[1], 0, "io", "array: names");
	check_value_name(&desc[1], 1, "none", "array: names");
	check_value_name(&desc[1], 2, "other", "array: names");
	check_value_name(&desc[2], 0, "none", "array: no statistic has the names of another");
	image_values(&image)[3] = 33;
	image_values(&image)[7] = 77;
	check(!statsfile_read(&file, values, &error) && values[3] == 33 && values[7] == 77,
	      "array: values");
	statsfile_close(&file);

	image_value_name(&image, 1)->value = 3;
	check_array_refused(&image, "reason_ns: value 3 has a name, there are 3");
	image_value_name(&image, 1)->value = 2;
	image_desc(&image, 3)->size = 3;
	check_array_refused(&image, "a data block of 64 bytes for 9 values");
	image_free(&image);
}

/* A VM with room for VCPU_MAX vCPUs, without a vCPU. */
static struct image build_vm(void)
{
	struct image image = image_build_ext("kvm-1", vm_stats, stats, VCPU_MAX);

	image_values(&image)[0] = 7;
	return image;
}

/* Adds a vCPU in the same order as the kernel. */
static void add_vcpu(const struct image *image, int fd, uint32_t id, uint64_t value)
{
	uint64_t *online_vcpus = &image_values(image)[ONLINE_VCPUS];

	image_set_windows(image, fd, *online_vcpus + 1);
	image_vcpu_ids(image)[*online_vcpus] = id;
	image_vcpu_values(image, *online_vcpus)[0] = value;
	++*online_vcpus;
}

struct vcpu_read {
	const struct statsfile *file;
	uint32_t index;
	uint64_t *values;
};

static bool read_vcpu(void *argument)
{
	struct vcpu_read *read = argument;
	struct statsfile_error error;

	return !statsfile_read_vcpu(read->file, read->index, read->values, &error);
}

static bool read_vm(void *argument)
{
	struct vcpu_read *read = argument;
	struct statsfile_error error;

	return !statsfile_read(read->file, read->values, &error);
}

static void test_windows(void)
{
	struct image image = build_vm();
	struct statsfile_source source = image_to_file(&image, 0, STATSFILE_MMAP);
	struct statsfile file = image_open_source(&source);
	struct statsfile_error error;
	uint64_t values[38] = {};
	struct vcpu_read read = { .file = &file, .values = values, };
	uint32_t ids[2] = {};

	check(statsfile_is_mapped(&file) && statsfile_has_windows(&file), "windows: mapped");
	check(file.vcpu_max == VCPU_MAX && file.vcpu_schema->num_values == 38,
	      "windows: vCPUs are described");
	check(!statsfile_read(&file, values, &error) && values[0] == 7,
	      "windows: values of the VM");
	check_number(statsfile_online_vcpus(&file), 0, "windows: no vCPU yet");
	check(!read_vcpu(&read), "windows: no window is touched");

	add_vcpu(&image, source.fd, 5, 100);
	check_number(statsfile_online_vcpus(&file), 1, "windows: a vCPU appears in the mapping");
	check(read_vcpu(&read) && values[0] == 100, "windows: its values");
	image_vcpu_values(&image, 0)[0] = 101;
	image_vcpu_values(&image, 0)[37] = 38;
	check(read_vcpu(&read) && values[0] == 101 && values[37] == 38,
	      "windows: its current values");

	add_vcpu(&image, source.fd, 2, 200);
	read.index = 1;
	check(read_vcpu(&read) && values[0] == 200, "windows: the next vCPU");
	check(!statsfile_read_vcpu_ids(&file, 0, 2, ids, &error) && ids[0] == 5 && ids[1] == 2,
	      "windows: ids");
	check(!statsfile_read_vcpu_ids(&file, 1, 1, ids, &error) && ids[0] == 2,
	      "windows: id of a new vCPU");
	check(statsfile_read_vcpu_ids(&file, 3, 2, ids, &error) == -EINVAL &&
	      statsfile_read_vcpu_ids(&file, UINT32_MAX, 2, ids, &error) == -EINVAL,
	      "windows: no ids beyond the last window");
	check_text(error.text, "ids of vCPUs 4294967295 to 4294967297, of 4",
		   "windows: no ids beyond the last window: the error says so");

	read.index = 2;
	check(statsfile_read_vcpu(&file, 2, values, &error) == -EINVAL,
	      "windows: a window without a vCPU is not touched");
	check_text(error.text, "vCPU 2 of 2",
		   "windows: a window without a vCPU: the error says so");
	image_values(&image)[ONLINE_VCPUS] = UINT64_MAX;
	check_number(statsfile_online_vcpus(&file), VCPU_MAX,
		     "windows: online_vcpus is limited to the windows");
	read.index = VCPU_MAX;
	check(!read_vcpu(&read), "windows: nothing after the last one is touched");

	image_values(&image)[ONLINE_VCPUS] = 2;
	read.index = 1;
	check(without_system_calls(read_vcpu, &read) && without_system_calls(read_vm, &read),
	      "windows: no system call");
	statsfile_close(&file);
	check(close(source.fd) && errno == EBADF, "windows: closed with the file");
	image_free(&image);
	check(!system("[ \"$(grep -c memfd:stats /proc/$PPID/maps)\" = 0 ]"),
	      "windows: unmapped with the file");
}

static void test_mapped_vcpu(void)
{
	struct image image = image_build_ext("kvm-1/vcpu-0", stats, NULL, 0);
	struct statsfile_source source = image_to_file(&image, 0, STATSFILE_MMAP);
	struct statsfile file = image_open_source(&source);
	unsigned int i;

	for (i = 0; i < 38; i++)
		image_values(&image)[i] = i + 1;
	check(statsfile_is_mapped(&file) && !statsfile_has_windows(&file) && !file.vcpu_schema &&
	      !statsfile_online_vcpus(&file), "mapped vCPU: no windows");
	check_file(&file, "mapped vCPU");
	statsfile_close(&file);
	image_free(&image);
}

/* A file that cannot be mapped is read with pread(), and shows no vCPUs. */
static void check_not_mapped(const struct statsfile *file, const char *name)
{
	struct statsfile_error error;
	uint64_t values[38] = {};
	struct vcpu_read read = { .file = file, .values = values, };
	uint32_t id = 0;

	check(!statsfile_is_mapped(file) && !statsfile_has_windows(file), "%s: not mapped", name);
	check(read_vm(&read) && values[0] == 7 && values[ONLINE_VCPUS] == 1, "%s: values", name);
	check(!statsfile_online_vcpus(file) && !read_vcpu(&read), "%s: no vCPUs", name);
	check(!statsfile_read_vcpu_ids(file, 0, 1, &id, &error) && id == 5, "%s: ids", name);
}

static void test_not_mapped(void)
{
	static const struct {
		const char *name;
		enum statsfile_access access;
	} cases[] = {
		{ "file that can be truncated", STATSFILE_AUTO, },
		{ "file by pread()", STATSFILE_PREAD, },
	};
	struct statsfile_source source;
	struct vcpu_read read;
	struct statsfile file;
	struct image image;
	uint64_t values[2];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build_vm();
		source = image_to_file(&image, 0, cases[i].access);
		add_vcpu(&image, source.fd, 5, 100);
		file = image_open_source(&source);
		check_not_mapped(&file, cases[i].name);
		read = (struct vcpu_read) { .file = &file, .values = values, };
		check(with_system_calls(read_vm, &read), "%s: by system calls", cases[i].name);
		if (ftruncate(source.fd, image_header(&image)->data_offset))
			abort();
		check(!read_vm(&read), "%s: truncated meanwhile", cases[i].name);
		statsfile_close(&file);
		image_free(&image);
	}

	image = build_vm();
	image_values(&image)[ONLINE_VCPUS] = 1;
	image_vcpu_ids(&image)[0] = 5;
	source = image_source(&image);
	source.access = STATSFILE_MMAP;
	file = image_open_source(&source);
	check_not_mapped(&file, "memory");
	statsfile_close(&file);
	image_free(&image);
}

/* The windows are larger than any address space. */
static void test_windows_refused(void)
{
	struct image image = build_vm();
	struct statsfile_source source;
	struct statsfile file;
	uint64_t values[2];
	struct vcpu_read read = { .file = &file, .values = values, };

	image_ext(&image)->vcpu_id_offset = 1 << 20;
	image_ext(&image)->vcpu_mmap_offset = 1 << 30;
	image_ext(&image)->vcpu_max = STATSFILE_MAX_VCPUS;
	image_ext(&image)->vcpu_stride = 0x80000000;
	image_values(&image)[ONLINE_VCPUS] = 1;
	source = image_to_file(&image, 0, STATSFILE_MMAP);
	file = image_open_source(&source);
	check(statsfile_is_mapped(&file) && !statsfile_has_windows(&file),
	      "windows too large: not mapped");
	check(without_system_calls(read_vm, &read) && !read_vcpu(&read),
	      "windows too large: the VM is still mapped");
	statsfile_close(&file);
	image_free(&image);
}

/* A function that changes an image. */
#define CHANGE(name, ...) static void name(struct image *image) { __VA_ARGS__; }

/* These changes leave the file well-formed. Readers ignore them, or they are rare. */

CHANGE(set_header_flags, image_header(image)->flags = ~KVM_STATS_HEADER_EXT)
CHANGE(set_desc_flags, image_desc(image, 0)->flags |= 0xfffff000)
CHANGE(use_new_type, image_desc(image, 0)->flags = 0xfff)
CHANGE(use_new_vector_type, image_desc(image, 3)->flags = 0x9)
CHANGE(set_extreme_exponent, image_desc(image, 0)->exponent = INT16_MIN)

static void swap_blocks(struct image *image)
{
	struct kvm_stats_header *header = image_header(image);
	uint32_t gap = 2048;

	memcpy(image->bytes + gap, image_id(image), IMAGE_NAME_SIZE);
	header->id_offset = gap;
}

CHANGE(describe_nothing, image_header(image)->num_desc = 0)

static void test_tolerance(void)
{
	static const struct {
		const char *name;
		void (*change)(struct image *image);
	} cases[] = {
		{ "unknown header flags", set_header_flags, },
		{ "unknown descriptor flags", set_desc_flags, },
		{ "unknown type, unit and base", use_new_type, },
		{ "unknown type with several values", use_new_vector_type, },
		{ "extreme exponent", set_extreme_exponent, },
		{ "blocks in another order, with gaps", swap_blocks, },
		{ "no statistics", describe_nothing, },
	};
	struct statsfile_error error = {};
	struct statsfile file;
	struct image image;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build();
		cases[i].change(&image);
		ret = open_image(&image, &file, &error);
		check(!ret, "accepted: %s", cases[i].name);
		if (!ret)
			statsfile_close(&file);
		image_free(&image);
	}
}

/* A newer kernel may have a larger block: moves everything after it. */
static void grow_ext(struct image *image)
{
	struct kvm_stats_header *header = image_header(image);
	struct kvm_stats_ext *ext = image_ext(image);
	unsigned char *from = image->bytes + header->desc_offset;
	unsigned int more = 24;

	memmove(from + more, from, header->data_offset - header->desc_offset - more);
	memset(from, 0xff, more);
	header->desc_offset += more;
	ext->value_name_offset += more;
	ext->vcpu_desc_offset += more;
	ext->vcpu_value_name_offset += more;
	ext->vcpu_id_offset += more;
	ext->size += more;
}

CHANGE(grow_ext_unaligned, grow_ext(image); image_ext(image)->size--)
CHANGE(cut_last_field,
	image_ext(image)->size = offsetof(struct kvm_stats_ext, vcpu_id_offset);
	image_ext(image)->vcpu_id_offset = 1)
CHANGE(cut_within_field,
	image_ext(image)->size = offsetof(struct kvm_stats_ext, value_name_offset) - 1)
/* A block from before values had names. The bytes after it are not part of it. */
CHANGE(cut_names,
	image_ext(image)->size = offsetof(struct kvm_stats_ext, value_name_offset);
	memset(&image_ext(image)->value_name_offset, 0xff, 20))
CHANGE(cut_within_names,
	image_ext(image)->size = sizeof(struct kvm_stats_ext) - 1;
	memset(&image_ext(image)->value_name_offset, 0xff, 20))
/* Without names, the other fields about them mean nothing. */
static void leave_no_name(struct image *image)
{
	memset(&image_ext(image)->value_name_offset, 0xff, 20);
	image_ext(image)->value_name_num = 0;
	image_ext(image)->vcpu_value_name_num = 0;
}

CHANGE(cut_vcpus,
	image_ext(image)->size = offsetof(struct kvm_stats_ext, vcpu_stride);
	memset(&image_ext(image)->vcpu_stride, 0xff, 32))
CHANGE(cut_data_size, image_ext(image)->size = 11; image_ext(image)->data_size = 1)
CHANGE(leave_no_window,
	memset(&image_ext(image)->vcpu_mmap_offset, 0xff, 32);
	image_ext(image)->vcpu_max = 0)
CHANGE(leave_room_in_data,
	image_ext(image)->data_size += 8;
	image_ext(image)->vcpu_data_size += 8)
CHANGE(describe_no_vcpu, image_ext(image)->vcpu_num_desc = 0)

static void test_ext_tolerance(void)
{
	static const struct {
		const char *name;
		void (*change)(struct image *image);
		bool data, windows;
	} cases[] = {
		{ "larger extension block", grow_ext, true, true, },
		{ "larger extension block of an odd size", grow_ext_unaligned, true, true, },
		{ "extension block without the last field", cut_last_field, true, false, },
		{ "extension block that cuts off a field", cut_within_field, true, false, },
		{ "extension block without names", cut_names, true, true, },
		{ "extension block that cuts off a field of names", cut_within_names, true, true, },
		{ "no names", leave_no_name, true, true, },
		{ "extension block without vCPUs", cut_vcpus, true, false, },
		{ "extension block without data size", cut_data_size, false, false, },
		{ "no windows", leave_no_window, true, false, },
		{ "data blocks with room", leave_room_in_data, true, true, },
		{ "no statistics of vCPUs", describe_no_vcpu, true, true, },
	};
	struct statsfile_source source;
	struct statsfile_error error;
	uint64_t values[38];
	struct vcpu_read read = { .values = values, };
	struct statsfile file;
	struct image image;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build_vm();
		cases[i].change(&image);
		/* Do not use the size in the image, which may be wrong. */
		source = image_to_file(&image, VCPU_MAX, STATSFILE_MMAP);
		if (ftruncate(source.fd, image.size))
			abort();
		error.text[0] = '\0';
		check(!statsfile_open(&file, &source, NULL, &error), "accepted: %s (%s)",
		      cases[i].name, error.text);
		read.file = &file;
		check(statsfile_is_mapped(&file) == cases[i].data &&
		      statsfile_has_windows(&file) == cases[i].windows &&
		      !file.vcpu_schema == !cases[i].windows, "accepted: %s: what is mapped",
		      cases[i].name);
		check(read_vm(&read) && values[0] == 7, "accepted: %s: values", cases[i].name);
		statsfile_close(&file);
		image_free(&image);
	}
}

/* The windows are mapped with names, and also if the block lacks the fields of names. */
static void test_names_tolerance(void)
{
	static const struct {
		const char *name;
		void (*change)(struct image *image);
		unsigned int num_value_names;
	} cases[] = {
		{ "larger extension block", grow_ext, NUM_VALUE_NAMES, },
		{ "extension block without names", cut_names, 0, },
		{ "extension block that cuts off a field of names", cut_within_names, 0, },
		{ "extension block without vCPUs", cut_vcpus, 0, },
	};
	struct statsfile file;
	struct image image;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		image = build_named_vm();
		cases[i].change(&image);
		file = image_open(&image);
		check_number(file.vcpu_schema ? file.vcpu_schema->num_value_names : 0,
			     cases[i].num_value_names, cases[i].name);
		statsfile_close(&file);
		image_free(&image);
	}
}

/* A newer kernel may have more bytes after each name. */
static void test_wider_names(void)
{
	struct image image = build_named();
	const uint32_t size = image_ext(&image)->value_name_size, wider = size + 24;
	unsigned char *names = (unsigned char *)image_value_name(&image, 0);
	struct statsfile file;
	unsigned int i;

	for (i = NUM_VALUE_NAMES; i--;) {
		memmove(names + i * wider, names + i * size, size);
		memset(names + i * wider + size, 0xff, wider - size);
	}
	image_ext(&image)->value_name_size = wider;
	file = image_open(&image);
	check_vcpu_names(file.schema, "names with more bytes after each");
	statsfile_close(&file);
	image_free(&image);
}

/* A block that is shorter than struct kvm_stats_ext, at the end of the file. */
static void test_short_ext_at_end(void)
{
	const struct kvm_stats_ext ext = {
		.size = 12,
		.magic = KVM_STATS_EXT_MAGIC,
		.data_size = 38 * 8,
	};
	struct image image = build(), longer = { .size = image.size + IMAGE_NAME_SIZE + ext.size, };
	unsigned char *end;

	longer.bytes = malloc(longer.size);
	memcpy(longer.bytes, image.bytes, image.size);
	end = longer.bytes + image.size;
	memcpy(end, image_id(&image), IMAGE_NAME_SIZE);
	memcpy(end + IMAGE_NAME_SIZE, &ext, ext.size);
	image_header(&longer)->id_offset = image.size;
	image_header(&longer)->flags = KVM_STATS_HEADER_EXT;
	image_free(&image);

	check_open_file(&longer, "short extension block at the end");
	image_free(&longer);
}

/* One function per way to break a file. */

CHANGE(clear_name_size, image_header(image)->name_size = 0)
CHANGE(grow_name_size, image_header(image)->name_size = STATSFILE_MAX_NAME + 1)
CHANGE(grow_num_desc, image_header(image)->num_desc = STATSFILE_MAX_DESC + 1)
CHANGE(describe_more_than_there_is, image_header(image)->num_desc = STATSFILE_MAX_DESC)
CHANGE(move_id_to_end, image_header(image)->id_offset = 0xfffffff8)
CHANGE(move_desc_to_end, image_header(image)->desc_offset = 0xfffffff8)
CHANGE(move_data_onto_header, image_header(image)->data_offset = 16)
CHANGE(move_data_onto_desc,
	image_header(image)->data_offset = image_header(image)->desc_offset + 64)
/* The id then begins at desc_offset, whose value 72 is a valid text: "H". */
CHANGE(move_id_onto_header, image_header(image)->id_offset = 16)
CHANGE(misalign_data, image_header(image)->data_offset += 4)
CHANGE(misalign_value, image_desc(image, 1)->offset = 12)
CHANGE(clear_id, image_id(image)[0] = '\0')
CHANGE(unterminate_id, memset(image_id(image), 'x', IMAGE_NAME_SIZE))
CHANGE(put_escape_into_id, image_id(image)[0] = '\033')
CHANGE(clear_name, image_desc(image, 2)->name[0] = '\0')
CHANGE(unterminate_name, memset(image_desc(image, 2)->name, 'x', IMAGE_NAME_SIZE))
CHANGE(put_escape_into_name, image_desc(image, 2)->name[3] = '\033')
CHANGE(put_high_byte_into_name, image_desc(image, 2)->name[3] = '\233')
CHANGE(put_blank_into_name, image_desc(image, 2)->name[3] = ' ')
CHANGE(clear_size, image_desc(image, 2)->size = 0)
CHANGE(clear_bucket_size, image_desc(image, 3)->bucket_size = 0)
CHANGE(grow_offset, image_desc(image, 1)->offset = 0xfffffff8)

struct malformed {
	const char *name;
	void (*change)(struct image *image);
	const char *error;
};

static void check_malformed(struct image (*make)(void), const struct malformed *malformed)
{
	struct statsfile_error error = {};
	struct image image = make();
	struct statsfile file;
	int ret;

	malformed->change(&image);
	ret = open_image(&image, &file, &error);
	check(ret == -EINVAL && strstr(error.text, malformed->error),
	      "refused: %s (%s)", malformed->name, error.text);
	if (!ret)
		statsfile_close(&file);
	image_free(&image);
}

static void test_malformed(void)
{
	static const struct malformed cases[] = {
		{ "names of no bytes", clear_name_size, "names of 0 bytes", },
		{ "names too large", grow_name_size, "names of 1025 bytes", },
		{ "too many statistics", grow_num_desc, "16385 statistics", },
		{ "more descriptors than the file holds", describe_more_than_there_is,
		  "ends inside of the descriptor block", },
		{ "id past the end", move_id_to_end, "ends inside of the id", },
		{ "descriptors past the end", move_desc_to_end,
		  "ends inside of the descriptor block", },
		{ "data in the header", move_data_onto_header,
		  "the data block and the header overlap", },
		{ "data in the descriptors", move_data_onto_desc,
		  "the data block and the descriptor block overlap", },
		{ "id in the header", move_id_onto_header, "the id and the header overlap", },
		{ "data not aligned", misalign_data, "not a multiple of 8", },
		{ "value not aligned", misalign_value, "pages: offset 12", },
		{ "empty id", clear_id, "the id is empty", },
		{ "id without an end", unterminate_id, "the id is", },
		{ "escape sequence in the id", put_escape_into_id, "the id is", },
		{ "empty name", clear_name, "name of statistic 2", },
		{ "name without an end", unterminate_name, "name of statistic 2", },
		{ "escape sequence in a name", put_escape_into_name, "name of statistic 2", },
		{ "high byte in a name", put_high_byte_into_name, "name of statistic 2", },
		{ "blank in a name", put_blank_into_name, "name of statistic 2", },
		{ "statistic without values", clear_size, "wait_hist: no value", },
		{ "linear histogram without bucket size", clear_bucket_size,
		  "size_hist: a linear histogram", },
		{ "value far away", grow_offset, "pages: ends at 4294967296", },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_malformed(build, &cases[i]);
}

static void misalign_vcpu_desc(struct image *image)
{
	struct kvm_stats_ext *ext = image_ext(image);
	unsigned char *from = image->bytes + ext->vcpu_desc_offset;

	memmove(from + 4, from, 4 * (16 + IMAGE_NAME_SIZE));
	ext->vcpu_desc_offset += 4;
	ext->vcpu_id_offset += 8;
}

CHANGE(misalign_data_page, image_header(image)->data_offset += 8)
CHANGE(clear_vcpu_name, image_vcpu_desc(image, 2)->name[0] = '\0')
CHANGE(rename_online_vcpus, image_desc(image, ONLINE_VCPUS)->name[0] = 'O')

#define FIELD(name) .field = #name, .offset = offsetof(struct kvm_stats_ext, name)

static void set_field(const struct image *image, size_t field, uint64_t value)
{
	if (field == offsetof(struct kvm_stats_ext, vcpu_mmap_offset))
		image_ext(image)->vcpu_mmap_offset = value;
	else
		*(uint32_t *)((char *)image_ext(image) + field) = value;
}

/* A field of the extension block, its value, and the expected error. */
struct malformed_field {
	const char *field;
	size_t offset;
	uint64_t value;
	const char *error;
};

static void check_malformed_fields(const struct image *image, const struct malformed_field *cases,
				   size_t count)
{
	const struct kvm_stats_ext ext = *image_ext(image);
	struct statsfile_error error = {};
	struct statsfile file;
	size_t i;
	int ret;

	for (i = 0; i < count; i++) {
		*image_ext(image) = ext;
		set_field(image, cases[i].offset, cases[i].value);
		ret = open_image(image, &file, &error);
		check(ret == -EINVAL && strstr(error.text, cases[i].error),
		      "refused: %s %llu (%s)", cases[i].field,
		      (unsigned long long)cases[i].value, error.text);
		if (!ret)
			statsfile_close(&file);
	}
}

static void test_malformed_fields(void)
{
	struct image image = build_vm();
	const struct kvm_stats_header header = *image_header(&image);
	const struct kvm_stats_ext ext = *image_ext(&image);
	const struct malformed_field cases[] = {
		{ FIELD(size), 0, "the extension block has 0 bytes", },
		{ FIELD(size), 3, "the extension block has 3 bytes", },
		{ FIELD(size), sizeof(struct kvm_stats_ext) + 8,
		  "the descriptor block and the extension block overlap", },
		{ FIELD(size), UINT32_MAX,
		  "the descriptor block and the extension block overlap", },
		{ FIELD(data_size), 0, "a data block of 0 bytes for 2 values", },
		{ FIELD(data_size), 8, "a data block of 8 bytes for 2 values", },
		{ FIELD(data_size), 20, "a data block of 20 bytes", },
		{ FIELD(data_size), STATSFILE_MAX_DATA + 8, "a data block of 16777224 bytes", },
		{ FIELD(data_size), ext.vcpu_stride + 8,
		  "the vCPU window block and the data block overlap", },
		{ FIELD(vcpu_mmap_offset), 0, "the vCPU window block and the header overlap", },
		{ FIELD(vcpu_mmap_offset), header.data_offset,
		  "the vCPU window block and the data block overlap", },
		{ FIELD(vcpu_mmap_offset), ext.vcpu_mmap_offset + 8,
		  "the offset of the vCPU windows is", },
		{ FIELD(vcpu_mmap_offset), UINT64_MAX - 4095, "windows end beyond", },
		{ FIELD(vcpu_mmap_offset), INT64_MAX - 4095, "windows end beyond", },
		{ FIELD(vcpu_stride), 0, "vCPU windows of 0 bytes for 304 bytes", },
		{ FIELD(vcpu_stride), 37 * 8, "vCPU windows of 296 bytes for 304 bytes", },
		{ FIELD(vcpu_stride), ext.vcpu_stride + 8,
		  "the distance of the vCPU windows is", },
		{ FIELD(vcpu_max), STATSFILE_MAX_VCPUS + 1, "windows of 65537 vCPUs", },
		{ FIELD(vcpu_max), STATSFILE_MAX_VCPUS,
		  "the vCPU id block and the data block overlap", },
		{ FIELD(vcpu_max), UINT32_MAX, "windows of 4294967295 vCPUs", },
		{ FIELD(vcpu_num_desc), STATSFILE_MAX_DESC + 1, "16385 vCPU statistics", },
		{ FIELD(vcpu_num_desc), STATSFILE_MAX_DESC,
		  "ends inside of the vCPU descriptor block", },
		{ FIELD(vcpu_num_desc), UINT32_MAX, "4294967295 vCPU statistics", },
		{ FIELD(vcpu_desc_offset), UINT32_MAX - 7,
		  "ends inside of the vCPU descriptor block", },
		{ FIELD(vcpu_desc_offset), header.desc_offset,
		  "the vCPU descriptor block and the descriptor block overlap", },
		{ FIELD(vcpu_desc_offset), 0,
		  "the name of statistic 0 in the vCPU descriptor block is", },
		{ FIELD(vcpu_data_size), 0, "a vCPU data block of 0 bytes for 38 values", },
		{ FIELD(vcpu_data_size), 37 * 8,
		  "a vCPU data block of 296 bytes for 38 values", },
		{ FIELD(vcpu_data_size), 38 * 8 + 4,
		  "a vCPU data block of 308 bytes for 38 values", },
		{ FIELD(vcpu_data_size), ext.vcpu_stride + 8, "vCPU windows of", },
		{ FIELD(vcpu_data_size), UINT32_MAX, "a vCPU data block of 4294967295 bytes", },
		{ FIELD(vcpu_id_offset), 0, "the vCPU id block and the header overlap", },
		{ FIELD(vcpu_id_offset), ext.vcpu_id_offset + 4, "the vCPU id block is at", },
		{ FIELD(vcpu_id_offset), ext.vcpu_desc_offset,
		  "the vCPU id block and the vCPU descriptor block overlap", },
		{ FIELD(vcpu_id_offset), header.data_offset,
		  "the vCPU id block and the data block overlap", },
		{ FIELD(vcpu_id_offset), ext.vcpu_mmap_offset,
		  "the vCPU window block and the vCPU id block overlap", },
	};

	check_malformed_fields(&image, cases, ARRAY_SIZE(cases));
	image_free(&image);
}

/* The file of a VM with names. */
static void test_malformed_name_fields(void)
{
	struct image image = build_named_vm();
	const struct kvm_stats_header header = *image_header(&image);
	const struct kvm_stats_ext ext = *image_ext(&image);
	const struct malformed_field cases[] = {
		{ FIELD(value_name_num), STATSFILE_MAX_VALUE_NAMES + 1, "4097 names of values", },
		{ FIELD(value_name_num), UINT32_MAX, "4294967295 names of values", },
		{ FIELD(value_name_num), STATSFILE_MAX_VALUE_NAMES,
		  "ends inside of the block of value names", },
		{ FIELD(value_name_size), 0, "names of values of 0 bytes, 56 to 2048", },
		{ FIELD(value_name_size), 8, "names of values of 8 bytes", },
		{ FIELD(value_name_size), 7 + IMAGE_NAME_SIZE, "names of values of 55 bytes", },
		{ FIELD(value_name_size), 2 * STATSFILE_MAX_NAME + 1,
		  "names of values of 2049 bytes", },
		{ FIELD(value_name_size), UINT32_MAX, "names of values of 4294967295 bytes", },
		{ FIELD(value_name_offset), UINT32_MAX - 7,
		  "ends inside of the block of value names", },
		{ FIELD(value_name_offset), image.size - 8,
		  "ends inside of the block of value names", },
		{ FIELD(value_name_offset), ext.value_name_offset + 4,
		  "the block of value names is at", },
		{ FIELD(value_name_offset), 0, "online_vcpus: the name of value 48 is", },
		{ FIELD(value_name_offset), ext.vcpu_value_name_offset,
		  "the block of the vCPUs' value names and the block of value names overlap", },
		{ FIELD(vcpu_value_name_num), STATSFILE_MAX_VALUE_NAMES + 1,
		  "4097 names of values", },
		{ FIELD(vcpu_value_name_num), STATSFILE_MAX_VALUE_NAMES,
		  "ends inside of the block of the vCPUs' value names", },
		{ FIELD(vcpu_value_name_offset), UINT32_MAX - 7,
		  "ends inside of the block of the vCPUs' value names", },
		{ FIELD(vcpu_value_name_offset), header.desc_offset,
		  "exits: the name of value 65536 is", },
	};

	check_malformed_fields(&image, cases, ARRAY_SIZE(cases));
	image_free(&image);
}

CHANGE(name_no_statistic, image_value_name(image, GUEST)->desc = 3)
CHANGE(name_far_statistic, image_value_name(image, GUEST)->desc = UINT32_MAX)
CHANGE(name_no_bucket, image_value_name(image, OTHER)->value = 4)
CHANGE(name_far_bucket, image_value_name(image, OTHER)->value = UINT32_MAX)
/* A histogram of one bucket has no bucket 1; a scalar can have any value. */
CHANGE(name_second_of_one_bucket, image_desc(image, 1)->size = 1)
CHANGE(clear_value_name, image_value_name(image, IO)->name[0] = '\0')
CHANGE(unterminate_value_name, memset(image_value_name(image, IO)->name, 'x', IMAGE_NAME_SIZE))
CHANGE(put_escape_into_value_name, image_value_name(image, IO)->name[1] = '\033')
CHANGE(put_blank_into_value_name, image_value_name(image, IO)->name[1] = ' ')
CHANGE(repeat_value_name, strcpy(image_value_name(image, OTHER)->name, "interrupt"))
CHANGE(repeat_value, image_value_name(image, IO)->value = 0)
CHANGE(repeat_said_value, image_value_name(image, IN_HOST)->value = 0)
CHANGE(swap_values,
	image_value_name(image, IO)->value = 3;
	image_value_name(image, OTHER)->value = 1)
CHANGE(swap_statistics, image_value_name(image, INTERRUPT)->desc = 2)
CHANGE(split_statistic, image_value_name(image, IN_HOST)->desc = 1)

static void move_names_into_data(struct image *image)
{
	image_ext(image)->value_name_offset = image_header(image)->data_offset - 8;
	image_ext(image)->value_name_num = 1;
	strcpy(image_value_name(image, 0)->name, "x");
}

static void move_names_into_desc(struct image *image)
{
	/* The entry is the end of a name and the next flags, which read as a letter. */
	image_ext(image)->value_name_offset = image_header(image)->desc_offset + 16 + 40;
	image_ext(image)->value_name_num = 1;
	image_desc(image, 1)->flags = KVM_STATS_TYPE_LINEAR_HIST | KVM_STATS_UNIT_BOOLEAN;
}

static void test_malformed_names(void)
{
	static const struct malformed cases[] = {
		{ "name of no statistic", name_no_statistic,
		  "a value of statistic 3 has a name, there are 3", },
		{ "name of a statistic far away", name_far_statistic,
		  "a value of statistic 4294967295 has a name", },
		{ "name of a bucket that does not exist", name_no_bucket,
		  "exit_reasons: value 4 has a name, there are 4", },
		{ "name of a bucket far away", name_far_bucket,
		  "exit_reasons: value 4294967295 has a name", },
		{ "names of more than a histogram's only bucket", name_second_of_one_bucket,
		  "exit_reasons: value 1 has a name, there are 1", },
		{ "empty name of a value", clear_value_name,
		  "exit_reasons: the name of value 1 is empty", },
		{ "name of a value without an end", unterminate_value_name,
		  "exit_reasons: the name of value 1 is", },
		{ "escape sequence in the name of a value", put_escape_into_value_name,
		  "exit_reasons: the name of value 1 is", },
		{ "blank in the name of a value", put_blank_into_value_name,
		  "exit_reasons: the name of value 1 is", },
		{ "name of two values", repeat_value_name,
		  "exit_reasons: values 0 and 3 are both called interrupt", },
		{ "two names of a bucket", repeat_value,
		  "exit_reasons: the names of values 0 and 0 are not in order", },
		{ "two names of a scalar's value", repeat_said_value,
		  "state: the names of values 0 and 0 are not in order", },
		{ "names of values not in order", swap_values,
		  "exit_reasons: the names of values 3 and 1 are not in order", },
		{ "names of statistics not in order", swap_statistics,
		  "the names of values of state and exit_reasons are not in order", },
		{ "names of a statistic in two places", split_statistic,
		  "the names of values of state and exit_reasons are not in order", },
		{ "names in the data", move_names_into_data,
		  "the data block and the block of value names overlap", },
		{ "names in the descriptors", move_names_into_desc,
		  "the block of value names and the descriptor block overlap", },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_malformed(build_named, &cases[i]);
}

/* The largest number of names takes little time, though each is compared with each. */
static void test_many_names(void)
{
	const char *names[STATSFILE_MAX_VALUE_NAMES + 1] = {};
	const struct image_stat many[] = {
		{
			.name = "many",
			.flags = KVM_STATS_TYPE_LINEAR_HIST,
			.size = STATSFILE_MAX_VALUE_NAMES,
			.bucket_size = 1,
			.value_names = names,
		},
		{},
	};
	struct statsfile file;
	struct image image;
	unsigned int i;

	for (i = 0; i < STATSFILE_MAX_VALUE_NAMES; i++)
		names[i] = xasprintf("value-%u", i);
	image = image_build_ext("kvm-1/vcpu-0", many, NULL, 0);
	file = image_open(&image);
	check_value_name(&file.schema->desc[0], 4095, "value-4095", "many names: the last");
	check_value_name(&file.schema->desc[0], 1234, "value-1234", "many names: one in between");
	statsfile_close(&file);
	image_free(&image);
	for (i = 0; i < STATSFILE_MAX_VALUE_NAMES; i++)
		free((char *)names[i]);
}

static void test_malformed_ext(void)
{
	static const struct malformed cases[] = {
		{ "vcpu_desc_offset not aligned", misalign_vcpu_desc,
		  "the vCPU descriptor block is at", },
		{ "data_offset not at a page", misalign_data_page,
		  "the offset of the data block is", },
		{ "vCPU statistic without a name", clear_vcpu_name,
		  "name of statistic 2 in the vCPU descriptor block", },
		{ "windows without online_vcpus", rename_online_vcpus,
		  "no statistic online_vcpus", },
	};
	struct statsfile_error error;
	struct statsfile file;
	struct image image;
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_malformed(build_vm, &cases[i]);

	/* The ids are not read before there are vCPUs. */
	image = build_vm();
	image_ext(&image)->vcpu_id_offset = UINT32_MAX - 7;
	file = image_open(&image);
	check(statsfile_read_vcpu_ids(&file, 0, 1, &id, &error) == -EINVAL,
	      "refused: vcpu_id_offset past the end, when ids are read");
	check_contains(error.text, "ends inside of the vCPU id block",
		       "refused: vcpu_id_offset past the end: the error says so");
	statsfile_close(&file);
	image_free(&image);
}

/* A file that ends within the descriptors is refused; if it ends later, reading values fails. */
static void test_truncated(void)
{
	struct image image = build(), part;
	uint64_t values[38];
	struct statsfile_error error;
	struct statsfile file;
	bool refused = true, missing = true;
	uint32_t data = image_header(&image)->data_offset;
	size_t end = image_header(&image)->desc_offset + 4 * (16 + IMAGE_NAME_SIZE);

	for (part.size = 0; part.size < image.size; part.size++) {
		/* Memory of exactly this size: the sanitizer notices reads beyond it. */
		part.bytes = malloc(part.size);
		memcpy(part.bytes, image.bytes, part.size);
		if (part.size < end) {
			refused &= open_image(&part, &file, &error) == -EINVAL;
		} else if (part.size < end + 8 || part.size > data - 8) {
			missing &= !open_image(&part, &file, &error) &&
				   statsfile_read(&file, values, &error) == -EINVAL;
			statsfile_close(&file);
		}
		free(part.bytes);
	}
	check(refused, "truncated before the end of the descriptors: refused");
	check(missing, "truncated in or before the data: the read fails");
	image_free(&image);
}

static void check_truncated_vm(struct image image, const char *name)
{
	struct statsfile_error error;
	struct image part;
	struct statsfile file;
	bool refused = true;
	size_t end = image_ext(&image)->vcpu_id_offset;

	for (part.size = 0; part.size < end; part.size++) {
		part.bytes = malloc(part.size);
		memcpy(part.bytes, image.bytes, part.size);
		refused &= open_image(&part, &file, &error) == -EINVAL;
		free(part.bytes);
	}
	check(refused, "truncated before the end of the vCPU %s: refused", name);
	image_free(&image);
}

static void test_truncated_vm(void)
{
	check_truncated_vm(build_vm(), "descriptors");
	check_truncated_vm(build_named_vm(), "names");
}

int main(void)
{
	test_memory();
	test_fd();
	test_may_be_kvms();
	test_sharing();
	test_value_names();
	test_arrays();
	test_windows();
	test_mapped_vcpu();
	test_not_mapped();
	test_windows_refused();
	test_tolerance();
	test_ext_tolerance();
	test_names_tolerance();
	test_wider_names();
	test_short_ext_at_end();
	test_malformed();
	test_malformed_fields();
	test_malformed_name_fields();
	test_malformed_names();
	test_many_names();
	test_malformed_ext();
	test_truncated();
	test_truncated_vm();
	return tap_end();
}
