// SPDX-License-Identifier: GPL-2.0
/* Privileges: the unit of systemd has few, and a command line keeps as few. */
#include <cap-ng.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "kvmstat.h"

/* Reading other users' VMs needs two capabilities; replaying needs none. */
void drop_privileges(bool live)
{
	struct rlimit files;

	/* Kernels without windows need a file per vCPU. */
	if (live && !getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (capng_get_caps_process() || capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE)
		return;
	bool ptrace = capng_have_capability(CAPNG_PERMITTED, CAP_SYS_PTRACE);
	bool search = capng_have_capability(CAPNG_PERMITTED, CAP_DAC_READ_SEARCH);

	capng_clear(CAPNG_SELECT_BOTH);
	if (live && ptrace)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_PTRACE);
	if (live && search)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_DAC_READ_SEARCH);
	/* Without CAP_SETPCAP the bounding set stays; no_new_privs makes it meaningless. */
	if (capng_apply(CAPNG_SELECT_BOTH) < -1 && capng_apply(CAPNG_SELECT_CAPS))
		complain("kvmstat keeps its capabilities: the kernel does not drop them");
}
