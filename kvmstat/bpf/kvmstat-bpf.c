// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvmstat-bpf: the BPF programs of kvmstat --bpf. kvmstat starts it, with a socket as its standard
 * input, and it ends with kvmstat. It needs root; what reads the values does not.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "../abi.h"
#include "protocol.h"
#include "kvmstat.skel.h"

/* The mode that kvmstat requests: off, KVM's own statistics, or also the values of the hooks */
enum { BPF_NOTHING, BPF_STATS, BPF_TIME, };

struct stat {
	const char *name;
	u32 flags;
	int16_t exponent;
	uint16_t size;
};

#define COUNT_UNIT KVM_STATS_UNIT_NONE
#define COUNT_EXPONENT 0
#define NANOSECONDS_UNIT KVM_STATS_UNIT_SECONDS
#define NANOSECONDS_EXPONENT -9
#define BOOLEAN_UNIT KVM_STATS_UNIT_BOOLEAN
#define BOOLEAN_EXPONENT 0
#define STAT(name, type, unit, size) \
	{ #name, KVM_STATS_TYPE_##type | unit##_UNIT, unit##_EXPONENT, size, },

static const struct stat vm_stats[] = {
#define VM_VALUE(name, type, unit) STAT(name, type, unit, 1)
#define VCPU_VALUE(...)
#define VCPU_ARRAY(...)
#include "values.h"
};

static const struct stat vcpu_stats[] = {
#define VM_VALUE(...)
#define VCPU_VALUE(name, type, unit) STAT(name, type, unit, 1)
#define VCPU_ARRAY(name, type, unit, size) STAT(name, type, unit, size)
#include "values.h"
};

static const char * const reasons[] = {
#define KVM_EXIT_REASON(name, ...) #name,
#include <asm/kvm_exit_reason_list.h>
	NULL,
};

static const char * const user_exits[] = {
#define KVM_USER_EXIT(number, name, ...) #name,
#include <linux/kvm_user_exit_list.h>
	NULL,
};

static const char * const states[] = {
#define KVM_VCPU_STATE(name, ...) #name,
#include <linux/kvm_vcpu_state_list.h>
	NULL,
};

static struct kvmstat_bpf *skel;
static struct btf *kernel, *kvm;
static char first_warning[120];
static bool is_locked_down;
static struct bpf_answer answer;
static char *header;

/* KVMSTAT_BPF_LOG=1 prints what libbpf and the verifier say. */
static int keep_warning(enum libbpf_print_level level, const char *text, va_list args)
{
	bool printed = getenv("KVMSTAT_BPF_LOG");
	char *message;

	if ((!printed && level != LIBBPF_WARN) || vasprintf(&message, text, args) < 0)
		return 0;
	if (printed)
		fputs(message, stderr);
	if (level == LIBBPF_WARN && !*first_warning)
		snprintf(first_warning, sizeof(first_warning), "%.*s", (int)strcspn(message, "\n"),
			 message);
	/* If the kernel does not let programs read it, libbpf tries the helper of old kernels. */
	is_locked_down |= strstr(message, "bpf_probe_read#") != NULL;
	free(message);
	return 0;
}

__attribute__((__format__(__printf__, 1, 2))) static bool fail(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vsnprintf(answer.error, sizeof(answer.error), text, args);
	va_end(args);
	return false;
}

/* The descriptors and names of VMs' or vCPUs' values */
struct part {
	struct stats_desc *desc;	/* of desc_size bytes each */
	struct stats_value_name *name;
	u32 num_descs, num_names;
};

static const size_t desc_size = sizeof(struct stats_desc) + NAME_SIZE;
static const size_t name_size = sizeof(struct stats_value_name) + NAME_SIZE;

static struct stats_desc *desc_at(const struct part *part, u32 i)
{
	return (void *)part->desc + i * desc_size;
}

static void add_name(struct part *part, u32 value, const char *name)
{
	struct stats_value_name *to;

	part->name = realloc(part->name, (part->num_names + 1) * name_size);
	to = (void *)part->name + part->num_names++ * name_size;
	memset(to, 0, name_size);
	to->desc = part->num_descs - 1;
	to->value = value;
	strncpy((char *)(to + 1), name, NAME_SIZE - 1);
}

static void add_names(struct part *part, const char *stat)
{
	const char * const *names = !strncmp(stat, "exit_reason", 11) ? reasons :
				    strstr(stat, "user_exit") ? user_exits :
				    !strcmp(stat, "state") ? states : NULL;
	u32 i;

	for (i = 0; names && names[i]; i++)
		add_name(part, i, names[i]);
	if (!strcmp(stat, "last_user_exit"))
		add_name(part, KVM_USER_EXIT_NONE, "none");
}

static bool has_desc(const struct part *part, const char *name)
{
	u32 i;

	for (i = 0; i < part->num_descs; i++) {
		if (!strcmp((char *)(desc_at(part, i) + 1), name))
			return true;
	}
	return false;
}

/* KVM's own statistics come first. Returns how many bytes they have. */
static u32 add_own(struct part *part, const struct own_table *own)
{
	const struct stats_desc *desc;
	u32 i, size = 0, end;

	if (own->name_size != NAME_SIZE || own->num_desc > MOST_DESCS)
		return 0;
	for (i = 0; i < own->num_desc; i++) {
		desc = (const void *)own->desc[i];
		end = desc->offset + desc->size * sizeof(u64);
		size = end > size ? end : size;
	}
	if (size > MOST_OWN)
		return 0;
	memcpy(part->desc, own->desc, own->num_desc * desc_size);
	part->num_descs = own->num_desc;
	return size;
}

static u32 add_ours(struct part *part, const struct stat *stat, size_t count, u32 offset)
{
	struct stats_desc *desc;

	for (; count--; stat++) {
		if (!has_desc(part, stat->name)) {
			desc = desc_at(part, part->num_descs++);
			memset(desc, 0, desc_size);
			*desc = (struct stats_desc) {
				.flags = stat->flags, .exponent = stat->exponent,
				.size = stat->size, .offset = offset,
			};
			strcpy((char *)(desc + 1), stat->name);
			add_names(part, stat->name);
		}
		offset += stat->size * sizeof(u64);
	}
	return offset;
}

/* Makes what a statistics file has before its data. */
static void make_header(const struct part *vm, const struct part *vcpu)
{
	u32 vm_descs = vm->num_descs * desc_size, vcpu_descs = vcpu->num_descs * desc_size;
	u32 at = sizeof(struct stats_header) + NAME_SIZE + sizeof(struct stats_ext);
	const struct stats_header begin = {
		.flags = STATS_HEADER_EXT, .name_size = NAME_SIZE, .num_desc = vm->num_descs,
		.id_offset = sizeof(begin), .desc_offset = at,
		.data_offset = at + vm_descs + vcpu_descs + vcpu->num_names * name_size,
	};
	const struct stats_ext ext = {
		.size = sizeof(ext), .magic = STATS_EXT_MAGIC, .data_size = answer.vm_size,
		.vcpu_stride = answer.vcpu_size, .vcpu_max = 1, .vcpu_num_desc = vcpu->num_descs,
		.vcpu_desc_offset = at + vm_descs, .vcpu_data_size = answer.vcpu_size,
		.value_name_size = name_size,
		.vcpu_value_name_offset = at + vm_descs + vcpu_descs,
		.vcpu_value_name_num = vcpu->num_names,
	};
	const char id[NAME_SIZE] = "-";
	size_t size;
	FILE *out = open_memstream(&header, &size);

	fwrite(&begin, sizeof(begin), 1, out);
	fwrite(id, sizeof(id), 1, out);
	fwrite(&ext, sizeof(ext), 1, out);
	fwrite(vm->desc, vm_descs, 1, out);
	fwrite(vcpu->desc, vcpu_descs, 1, out);
	fwrite(vcpu->name, vcpu->num_names, name_size, out);
	fclose(out);
	answer.header_size = begin.data_offset;
}

static void describe(bool timed)
{
	struct part vm = { .desc = malloc(2 * MOST_DESCS * desc_size), };
	struct part vcpu = { .desc = malloc(2 * MOST_DESCS * desc_size), };
	u32 own = add_own(&vm, &skel->bss->vm_table);

	skel->bss->vm_size = own;
	answer.vm_size = add_ours(&vm, vm_stats, sizeof(vm_stats) / sizeof(*vm_stats), own);
	own = add_own(&vcpu, &skel->bss->vcpu_table);
	skel->bss->vcpu_size = own;
	answer.vcpu_size = !timed ? own : add_ours(&vcpu, vcpu_stats,
						   sizeof(vcpu_stats) / sizeof(*vcpu_stats), own);
	make_header(&vm, &vcpu);
	free(vm.desc);
	free(vcpu.desc);
	free(vcpu.name);
}

static bool has_text(const char *path, const char *text)
{
	char line[256];
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, };
	struct __user_cap_data_struct data[2] = {};

	return !syscall(SYS_capget, &header, data) &&
	       data[capability / 32].effective >> capability % 32 & 1;
}

/* Of the first pid namespace, which always has this number */
static bool has_host_pids(void)
{
	char name[32] = "";

	return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 &&
	       !strcmp(name, "pid:[4026531836]");
}

/* The trace point kvm_exit gets a vCPU and the vendor. On older kernels it gets others. */
static bool has_known_arguments(void)
{
	const struct btf *btf = kvm ?: kernel;
	const struct btf_type *type =
		btf__type_by_id(btf, btf__find_by_name_kind(btf, "btf_trace_kvm_exit", BTF_KIND_TYPEDEF));

	/* The type points to a function. Its first argument is the program's context. */
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_vlen(type) == 3;
}

static bool is_possible(void)
{
	if (!has_capability(CAP_SYS_ADMIN) || !has_capability(CAP_SYSLOG))
		return fail("BPF needs root: %s is missing",
			    has_capability(CAP_SYS_ADMIN) ? "CAP_SYSLOG" : "CAP_SYS_ADMIN");
	if (!has_host_pids())
		return fail("BPF needs the host's pid namespace: this one is a container's");
	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	if (!kernel)
		return fail("this kernel does not describe itself (CONFIG_DEBUG_INFO_BTF)");
	/* The device, which needs both modules: the vendor's has structures that the programs read. */
	answer.retry = access("/sys/class/misc/kvm", F_OK);
	if (answer.retry)
		return fail("KVM is not loaded");
	btf__free(kvm);
	kvm = btf__load_module_btf("kvm", kernel);
	if (!kvm && has_text("/proc/modules", "kvm "))
		return fail("this kernel does not describe KVM (CONFIG_DEBUG_INFO_BTF_MODULES)");
	/* Programs at functions would be attached, but not called. */
	if (has_text("/proc/sys/kernel/ftrace_enabled", "0"))
		return fail("function tracing is off: sysctl kernel.ftrace_enabled=1");
	if (!has_known_arguments())
		return fail("this kernel is too old: BPF needs Linux 6.1 or later");
	return true;
}

static bool has_function(const char *name)
{
	return btf__find_by_name_kind(kvm ?: kernel, name, BTF_KIND_FUNC) > 0;
}

static void detach(void)
{
	kvmstat_bpf__destroy(skel);
	skel = NULL;
	free(header);
	header = NULL;
	answer.header_size = 0;
}

/*
 * Of the programs that count, only those whose place this kernel has. The one where a vCPU ends
 * also keeps KVM's module, whose addresses the other programs have.
 */
static void choose_programs(bool timed)
{
	struct bpf_program *program;
	const char *place;

	bpf_object__for_each_program(program, skel->obj) {
		place = bpf_program__section_name(program);
		if (!strncmp(place, "fentry/", 7))
			bpf_program__set_autoload(program, (timed || program == skel->progs.destroy) &&
						  has_function(place + 7));
		else if (!strncmp(place, "tp_btf/", 7))
			bpf_program__set_autoload(program, timed);
	}
}

/* Reads all, so that each vCPU has a record. */
static void find_vcpus(void)
{
	char bytes[4096];
	int fd = bpf_iter_create(bpf_link__fd(skel->links.find_files));
	ssize_t length;

	/* EAGAIN: there are many files, and more of them */
	do {
		length = read(fd, bytes, sizeof(bytes));
	} while (length > 0 || (length < 0 && errno == EAGAIN));
	close(fd);
}

static bool attach(bool timed)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct timespec now;

	first_warning[0] = '\0';
	if (!is_possible())
		return false;
	skel = kvmstat_bpf__open();
	if (!skel)
		return fail("cannot open the BPF programs: %s", strerror(errno));
	skel->rodata->timed = timed;
	skel->rodata->can_cast = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	if (!timed)
		bpf_map__set_max_entries(skel->maps.records, 1);
	choose_programs(timed);
	if (kvmstat_bpf__load(skel) ||
	    bpf_prog_test_run_opts(bpf_program__fd(skel->progs.read_tables), &options))
		return errno == EPERM ? fail("the kernel refuses BPF programs here, as in a container") :
			is_locked_down ?
			fail("the kernel is locked down (confidentiality): BPF may not read it") :
			fail("cannot load the BPF programs: %s (%s)", strerror(errno), first_warning);
	if (!skel->bss->has_files)
		return fail("/proc/kallsyms does not say where KVM's data is (kernel.kptr_restrict=2)");
	describe(timed);
	if (kvmstat_bpf__attach(skel))
		return fail("cannot attach the BPF programs: %s (%s)", strerror(errno), first_warning);
	if (timed) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		__atomic_store_n(&skel->data->initial.values.state_since_ns,
				 now.tv_sec * UINT64_C(1000000000) + now.tv_nsec, __ATOMIC_SEQ_CST);
		find_vcpus();
		skel->bss->found_all = true;
	}
	answer.attached++;
	return true;
}

static u64 count_missed(void)
{
	struct bpf_program *program;
	u64 sum = 0;

	bpf_object__for_each_program(program, skel->obj) {
		struct bpf_prog_info info = {};
		u32 size = sizeof(info);

		if (bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			sum += info.recursion_misses;
	}
	return sum;
}

static bool send_answer(int values_fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec bytes[2] = { { &answer, sizeof(answer), }, { header, answer.header_size, }, };
	struct msghdr message = { .msg_iov = bytes, .msg_iovlen = 2, };
	struct cmsghdr *files = (void *)control;

	if (values_fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		*files = (struct cmsghdr) {
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(files), &values_fd, sizeof(int));
	}
	return sendmsg(STDIN_FILENO, &message, MSG_NOSIGNAL) >= 0;
}

int main(void)
{
	unsigned char want, is = BPF_NOTHING;
	int fd;

	libbpf_set_print(keep_warning);
	while (recv(STDIN_FILENO, &want, 1, 0) == 1) {
		answer.error[0] = '\0';
		answer.retry = false;
		if (want != is) {
			detach();
			is = want == BPF_NOTHING || attach(want == BPF_TIME) ? want : BPF_NOTHING;
		}
		fd = -1;
		if (is != BPF_NOTHING) {
			skel->bss->missed = count_missed();
			fd = bpf_iter_create(bpf_link__fd(skel->links.find_files));
			if (fd < 0)
				fail("cannot read VMs: %s", strerror(errno));
		} else {
			detach();
		}
		if (!send_answer(fd))
			break;
		close(fd);
	}
	if (errno == ENOTSOCK) {
		fprintf(stderr, "kvmstat-bpf: kvmstat starts this program: kvmstat --bpf why\n");
		return 2;
	}
	detach();
	return 0;
}
