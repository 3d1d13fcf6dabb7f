// SPDX-License-Identifier: GPL-2.0
/*
 * What the program says about itself. The man page says the same: a test compares
 * them.
 */
#include <stdio.h>

#include "commands/command.h"
#include "util/util.h"

/* Lines of 80 characters. */
static const char help_text[] =
	"Usage:\n"
	"  kvmstat [--sort COLUMN] [--limit N] [INTERVAL [COUNT]]\n"
	"                                 what the VMs of this host do, per second\n"
	"  kvmstat list                   the VMs of this host and their statistics\n"
	"  kvmstat -p PID [-w] [INTERVAL [COUNT]]\n"
	"                                 what moves in the VMs of a process, per second\n"
	"  kvmstat top [INTERVAL]         all VMs on a full screen, help on ?\n"
	"  kvmstat show -p PID [-c N] [-v] [--stat REGEX] [--nonzero]\n"
	"                                 every statistic of the VMs of a process\n"
	"  kvmstat show --fd N [-v]       every statistic in an open statistics file\n"
	"  kvmstat hist -p PID [-c N] [NAME...] [INTERVAL [COUNT]]\n"
	"                                 histograms of the VMs of a process\n"
	"  kvmstat hist --fd N [NAME...]  histograms in an open statistics file\n"
	"  kvmstat record FILE [-p PID] [INTERVAL [COUNT]]\n"
	"                                 all VMs, or one process, into a file\n"
	"  kvmstat replay FILE [INTERVAL [COUNT]]\n"
	"                                 what they did, from that file\n"
	"  kvmstat replay FILE --info     of which host and time it is\n"
	"  kvmstat replay FILE list|show|hist|top|-p PID ...\n"
	"                                 any of these on the file\n"
	"  kvmstat export [--listen ADDRESS] [--per-vcpu]\n"
	"                                 all statistics for Prometheus, by HTTP\n"
	"  kvmstat explain NAME...        what statistics and reasons for exits mean\n"
	"  kvmstat help\n"
	"\n"
	"Options:\n"
	"  -p, --pid PID    the process that runs the VM, in most cases QEMU\n"
	"  -w, --wait       if it has no VM yet, wait until it has\n"
	"  -c, --vcpu N     vCPU N alone, instead of the VM and the sum of all vCPUs\n"
	"  -f, --fd N       read the statistics file that is open as file descriptor N\n"
	"  -v, --verbose    of show: what each statistic counts\n"
	"      --sort COLUMN\n"
	"                   of all VMs: those with most of guest, kvm, vmm, ready, idle,\n"
	"                   exits, halts, injections or vcpus first, or by name or pid\n"
	"      --limit N    of all VMs: the first N of them\n"
	"      --stat REGEX\n"
	"                   of show and hist: statistics whose name it fits\n"
	"      --nonzero    of show and hist: only those that are not 0\n"
	"      --listen [ADDR]:PORT or unix:PATH\n"
	"                   of export: where it listens, by default 127.0.0.1:10203\n"
	"      --per-vcpu   of export: each vCPU, instead of the sum of a VM's vCPUs\n"
	"      --json       of list, show, hist and all that is watched: JSON\n"
	"      --force      overwrite the file to record to\n"
	"      --at TIME    of replay, in front of the command: go to 14:05[:30], to\n"
	"                   2026-01-31T14:05[:30] or to so many seconds (+90) from the\n"
	"                   beginning\n"
	"      --info       of replay: host, kernel, time, number of samples\n"
	"  -h, --help       print this\n"
	"  -V, --version    print the version\n"
	"\n"
	"INTERVAL is in seconds, by default 1, and may have decimals. Without COUNT\n"
	"kvmstat goes on until it is interrupted, with -p PID also until the VM ends, and\n"
	"then prints totals of that. Without any argument it watches all VMs for one\n"
	"second.\n"
	"\n"
	"VMs of others need root, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH. The kernel\n"
	"has to give statistics files (KVM_GET_STATS_FD) to whoever holds the VM's file\n"
	"descriptor; of others since Linux 5.14 those are read that the VM's process has\n"
	"open itself.\n";

int command_help(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("%s: unexpected argument '%s'", argv[0], argv[1]);
	fputs(help_text, stdout);
	return STATUS_OK;
}

/* What the program was built with: tells why a command is missing. */
static const char libraries[] = ""
#ifdef HAVE_JSON
	" json-c"
#endif
#ifdef HAVE_HTTP
	" libmicrohttpd"
#endif
#ifdef HAVE_CURSES
	" ncurses"
#endif
	;

int command_version(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("%s: unexpected argument '%s'", argv[0], argv[1]);
	printf("kvmstat " KVMSTAT_VERSION "\nlibraries:%s\n", *libraries ? libraries : " none");
	return STATUS_OK;
}
