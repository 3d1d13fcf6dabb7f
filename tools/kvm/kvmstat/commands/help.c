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
	"  kvmstat [-p VM]... [--sort COLUMN] [--limit N] [INTERVAL [COUNT]]\n"
	"                                 what the VMs of this host do, per second\n"
	"  kvmstat list [-p VM]... [--sort COLUMN] [--limit N]\n"
	"                                 the VMs of this host and how busy they are\n"
	"  kvmstat -p VM [-w] [INTERVAL [COUNT]]\n"
	"                                 what moves in a single VM, per second\n"
	"  kvmstat top [-p VM]... [INTERVAL]\n"
	"                                 all VMs on a full screen, help on ?\n"
	"  kvmstat show -p VM... [-c N] [-v] [--stat REGEX] [--nonzero]\n"
	"                                 every statistic of VMs\n"
	"  kvmstat show --fd N [-v]       every statistic in an open statistics file\n"
	"  kvmstat hist -p VM... [-c N] [--stat REGEX] [--nonzero] [NAME...]\n"
	"               [INTERVAL [COUNT]]\n"
	"                                 histograms of VMs\n"
	"  kvmstat hist --fd N [NAME...]  histograms in an open statistics file\n"
	"  kvmstat watch NAME[:PART] '>' VALUE [per WINDOW] [-p VM]... [-c N | --sum]\n"
	"                [-n COUNT] [--exec CMD]\n"
	"                                 wait until a statistic grows by more than VALUE\n"
	"  kvmstat record FILE [-p VM]... [--force] [INTERVAL [COUNT]]\n"
	"                                 all VMs, or some, into a file\n"
	"  kvmstat replay FILE [INTERVAL [COUNT]]\n"
	"                                 what they did, from that file\n"
	"  kvmstat replay FILE --info     of which host and time it is\n"
	"  kvmstat replay FILE list|show|hist|top|watch|-p VM ...\n"
	"                                 any of these on the file\n"
	"  kvmstat export [-p VM]... [--listen ADDRESS] [--per-vcpu] [--label NAME]...\n"
	"                 [--stat REGEX] [--buckets N]\n"
	"                                 all statistics for Prometheus, by HTTP\n"
	"  kvmstat explain NAME...        what statistics and reasons for exits mean\n"
	"  kvmstat help\n"
	"\n"
	"Options:\n"
	"  -p, --pid VM     only the VM of that pid, of that name or, by a shell pattern,\n"
	"                   of such names; may be repeated\n"
	"  -w, --wait       if it is not there yet, wait until it is\n"
	"  -c, --vcpu N     vCPU N alone, instead of the VM and the sum of all vCPUs\n"
	"      --sum        of watch: all vCPUs together, instead of each by itself\n"
	"  -n, --count COUNT\n"
	"                   of watch: end after so many events\n"
	"      --exec CMD   of watch: run CMD at events, by sh, with KVMSTAT_PID, _NAME,\n"
	"                   _VCPU, _STAT, _GROWTH and _MISSED in its environment\n"
	"  -f, --fd N       read the statistics file that is open as file descriptor N\n"
	"  -v, --verbose    of show: what each statistic counts\n"
	"      --sort COLUMN\n"
	"                   of several VMs: those with most of guest, kvm, vmm, ready,\n"
	"                   idle, exits, halts, injections, vcpus or with the longest\n"
	"                   ready50, ready99, exit50 or exit99 first, or by name, pid or\n"
	"                   reason\n"
	"      --limit N    of several VMs: the first N of them\n"
	"      --stat REGEX\n"
	"                   of show, hist and export: statistics whose name it fits\n"
	"      --nonzero    of show and hist: only those that are not 0\n"
	"      --listen [ADDR]:PORT\n"
	"                   of export: where it listens, by default 127.0.0.1:10203\n"
	"      --per-vcpu   of export: each vCPU, instead of the sum of a VM's vCPUs\n"
	"      --label NAME\n"
	"                   of export: this label of kvm_vm_info on each series of a VM\n"
	"      --buckets N  of export: at most N buckets of each histogram, with +Inf\n"
	"      --json       of list, show, hist and all that is watched: JSON\n"
	"      --csv        of the same: comma-separated values\n"
	"      --force      overwrite the file to record to\n"
	"      --at TIME    of replay, in front of the command: go to 14:05[:30], to\n"
	"                   2026-01-31T14:05[:30] or to so many seconds (+90) from the\n"
	"                   beginning\n"
	"      --info       of replay: host, kernel, time, number of samples\n"
	"  -h, --help       print this\n"
	"  -V, --version    print the version\n"
	"\n"
	"INTERVAL is in seconds, by default 1, and may have decimals. Without COUNT\n"
	"kvmstat goes on until it is interrupted, with one -p VM also until that ends,\n"
	"and then prints totals of it. Without any argument it watches all VMs for one\n"
	"second.\n"
	"\n"
	"VALUE of watch has a unit where the statistic has one: 8ms, 1.5MiB. PART is the\n"
	"name of a value (exit_reasons:hlt) or buckets (halt_wait_hist:8ms-). WINDOW is\n"
	"10ms to 10s, by default 1s.\n"
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
#ifdef HAVE_ZLIB
	" zlib"
#endif
#ifdef HAVE_SYSTEMD
	" libsystemd"
#endif
	;

int command_version(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("%s: unexpected argument '%s'", argv[0], argv[1]);
	printf("kvmstat " KVMSTAT_VERSION "\nlibraries:%s\n", *libraries ? libraries : " none");
	return STATUS_OK;
}
