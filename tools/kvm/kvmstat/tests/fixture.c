// SPDX-License-Identifier: GPL-2.0
/*
 * VMs for tests of renderers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tap.h"
#include "util/util.h"

void fixture_set_up(struct fixture *fixture, const char *process_name,
		    const struct image_stat *vm_stats, const struct image_stat *vcpu_stats)
{
	*fixture = (struct fixture) { .process.pid = 312, };
	snprintf(fixture->process.name, sizeof(fixture->process.name), "%s", process_name);
	fixture->vm_image = image_build("kvm-312", vm_stats);
	fixture->vcpu_image = image_build_ext("kvm-315/vcpu-0", vcpu_stats, NULL, 0);
	fixture->vcpu.file = image_open(&fixture->vcpu_image);
	fixture->vm = (struct vm) {
		.process = &fixture->process,
		.file = image_open(&fixture->vm_image),
		.vcpu = &fixture->vcpu,
		.num_vcpus = 1,
	};
	fixture->tracked = (struct tracked_vm) {
		.pid = fixture->process.pid,
		.id = "kvm-312",
		.source = "vmm",
		.has_statistics = true,
		.num_vcpus = 1,
	};
	strcpy(fixture->tracked.name, fixture->process.name);
	fixture->closed = (struct tracked_vm) {
		.source = "proc",
		.pid = fixture->process.pid,
		.id = "-",
		.num_vcpus = 3,
	};
	strcpy(fixture->closed.name, fixture->process.name);
	model_init(&fixture->tracked.model, &fixture->vm);
	fixture->output.file = open_memstream(&fixture->text, &fixture->size);
}

void fixture_tear_down(struct fixture *fixture)
{
	fclose(fixture->output.file);
	free(fixture->text);
	model_free(&fixture->tracked.model);
	statsfile_close(&fixture->vcpu.file);
	statsfile_close(&fixture->vm.file);
	image_free(&fixture->vcpu_image);
	image_free(&fixture->vm_image);
}

void fixture_sample(struct fixture *fixture, uint64_t seconds)
{
	struct statsfile_error error;

	if (model_sample(&fixture->tracked.model, seconds * NSEC_PER_SEC, false, &error))
		abort();
}

void fixture_expect(struct fixture *fixture, const char *file, const char *name)
{
	fflush(fixture->output.file);
	check_golden(file, name, fixture->text);
	fixture_rewind(fixture);
}

void fixture_rewind(struct fixture *fixture)
{
	rewind(fixture->output.file);
	memset(fixture->text, 0, fixture->size);
}
