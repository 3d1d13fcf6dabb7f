// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat show: every statistic, with what describes it.
 */
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "model.h"
#include "render_text.h"
#include "util.h"

#define ALL_VCPUS (-1)

struct show_options {
	struct process_options process;
	int fd;
	int vcpu;
};

static void show_group(struct group *group)
{
	struct text_output output = { .file = stdout, };

	render_group(&output, group);
	group_free(group);
}

static int show_file(const struct statsfile *file)
{
	struct statsfile_error error;
	struct group group;

	if (group_of_file(&group, file, &error)) {
		print_error("%s: %s", file->id, error.text);
		return STATUS_ERROR;
	}
	printf("%s:\n", file->id);
	show_group(&group);
	return STATUS_OK;
}

static int show_fd(int fd)
{
	struct statsfile_source source = { .fd = fd, };
	struct statsfile_error error;
	struct statsfile file;
	int status;

	if (statsfile_open(&file, &source, NULL, &error)) {
		print_error("file descriptor %d is not a statistics file: %s", fd, error.text);
		return STATUS_ERROR;
	}
	status = show_file(&file);
	statsfile_close(&file);
	return status;
}

static int show_whole_vm(const struct vm *vm)
{
	struct text_output output = { .file = stdout, };
	struct statsfile_error error;
	struct model model;
	int status = STATUS_OK;

	model_init(&model, vm);
	if (model_sample(&model, monotonic_ns(), true, &error)) {
		print_error("%s: %s", vm->file.id, error.text);
		status = STATUS_ERROR;
	} else {
		printf("%s, pid %d, VM %s:\n", vm->process->name, vm->process->pid, vm->file.id);
		render_group(&output, &model.group[SCOPE_VM]);
		printf("\n%s, pid %d, sum of %zu vCPUs:\n", vm->process->name, vm->process->pid,
		       vm->num_vcpus);
		if (vm->num_vcpus)
			render_group(&output, &model.group[SCOPE_VCPU]);
	}
	model_free(&model);
	return status;
}

static int show_vcpu(const struct vm *vm, const struct vcpu *vcpu)
{
	struct statsfile_error error;
	struct group group;

	if (group_of_vcpu(&group, vm, vcpu - vm->vcpu, &error)) {
		print_error("%s, vCPU %u: %s", vm->file.id, vcpu->number, error.text);
		return STATUS_ERROR;
	}
	printf("%s, pid %d, VM %s, vCPU %u:\n", vm->process->name, vm->process->pid,
	       vm->file.id, vcpu->number);
	show_group(&group);
	return STATUS_OK;
}

static int show_vms(const struct inventory *inventory, int vcpu)
{
	const struct vcpu *found = NULL;
	int status = STATUS_OK;
	const struct vm *vm;
	bool any = false;
	size_t i;

	for (i = 0; i < inventory->num_vms && status == STATUS_OK; i++) {
		vm = inventory->vm[i];
		if (vcpu != ALL_VCPUS)
			found = vm_find_vcpu(vm, vcpu);
		if (!vm_has_statistics(vm) || (vcpu != ALL_VCPUS && !found))
			continue;
		if (any)
			putchar('\n');
		any = true;
		status = found ? show_vcpu(vm, found) : show_whole_vm(vm);
	}
	if (any)
		return status;
	print_error("pid %d has no vCPU %d", inventory->process[0]->pid, vcpu);
	return STATUS_ERROR;
}

static int show_process(const struct show_options *options)
{
	struct inventory inventory;
	struct process *process;
	int status;

	status = open_inventory(&inventory);
	if (status != STATUS_OK)
		return status;
	process = discover_process(&inventory, options->process.pid);
	print_problems(&inventory);
	status = process ? look_for_vms(&inventory, process, NULL) : STATUS_ERROR;
	if (status == STATUS_OK)
		status = show_vms(&inventory, options->vcpu);
	inventory_free(&inventory);
	return status;
}

static int parse_options(int argc, char **argv, struct show_options *options)
{
	static const struct option long_options[] = {
		{ "vcpu", required_argument, NULL, 'c', },
		{ "fd", required_argument, NULL, 'f', },
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	int option, status;
	uint64_t number;

	while ((option = getopt_long(argc, argv, ":c:f:" PROCESS_OPTIONS, long_options,
				     NULL)) != -1) {
		switch (option) {
		case 'c':
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("'%s' is not a vCPU's number", optarg);
			options->vcpu = number;
			break;
		case 'f':
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("'%s' is not a file descriptor", optarg);
			options->fd = number;
			break;
		default:
			status = parse_process_option(option, argv, &options->process);
			if (status != STATUS_OK || options->process.help)
				return status;
		}
	}
	if (optind < argc)
		return usage_error("show: unexpected argument '%s'", argv[optind]);
	if (options->process.pid ? options->fd >= 0 : options->fd < 0)
		return usage_error("show needs either -p PID or --fd N");
	if (options->fd >= 0 && options->vcpu != ALL_VCPUS)
		return usage_error("--vcpu goes with -p PID only");
	return STATUS_OK;
}

int command_show(int argc, char **argv)
{
	struct show_options options = { .fd = -1, .vcpu = ALL_VCPUS, };
	int status;

	status = parse_options(argc, argv, &options);
	if (status != STATUS_OK)
		return status;
	if (options.process.help)
		return command_help(1, argv);
	return options.fd >= 0 ? show_fd(options.fd) : show_process(&options);
}
