// SPDX-License-Identifier: GPL-2.0
/*
 * Which process makes a VM, by what KVM says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sources/uevents.h"
#include "tap.h"
#include "util/util.h"

/* As 5.10 says it; the NUL at the end of the last one is that of the literal. */
#define BEGIN \
	"change@/devices/virtual/misc/kvm\0ACTION=change\0" \
	"DEVPATH=/devices/virtual/misc/kvm\0SUBSYSTEM=misc\0CREATED=3\0COUNT=1\0"
#define END "\0STATS_PATH=/sys/kernel/debug/kvm/4321-4\0MAJOR=10\0MINOR=232\0DEVNAME="
#define MAKES BEGIN "EVENT=create\0PID=4321" END "kvm\0SEQNUM=1705"
#define ENDS BEGIN "EVENT=destroy\0PID=4321" END "kvm\0SEQNUM=1706"

#define parse(text) uevent_parse(text, sizeof(text) - 1)

static void test_parse(void)
{
	check(parse(MAKES) == 4321, "a VM is made");
	check(!parse(ENDS), "a VM that ends");
	check(!parse(BEGIN "EVENT=create\0PID=4321" END "vhost-net"), "another device");
	check(!parse(BEGIN "EVENT=create\0PID=4321" END "kvm2"), "one that is called almost so");
	check(!parse(BEGIN "EVENT=created\0PID=4321" END "kvm"), "another event");
	check(!parse("change@/devices/virtual/misc/kvm\0DEVNAME=kvm\0EVENT=create"), "no pid");
	check(parse("PID=7\0EVENT=create\0DEVNAME=kvm") == 7, "in another order");
	check(!parse("EVENT=create\0DEVNAME=kvm\0XPID=7"), "a key that ends like another one");
}

static void test_bad(void)
{
	static const char * const pids[] = { "", "0", "-1", "1x", " 1", "2147483648", "1e3", };
	char text[512];
	size_t i;
	int length;

	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		length = snprintf(text, sizeof(text), "DEVNAME=kvm%cEVENT=create%cPID=%s", 0, 0,
				  pids[i]);
		check(!uevent_parse(text, length), "'%s' is no pid", pids[i]);
	}
	check(!uevent_parse("", 0), "nothing");
	check(!uevent_parse("\0\0\0", 3), "nothing but ends");
	/* Each beginning of one, as if the rest had not come: no more than a shorter number. */
	for (i = 0; i < sizeof(MAKES); i++) {
		memset(text, 0, sizeof(text));
		memcpy(text, MAKES, i);
		if (uevent_parse(text, i) != 0 && uevent_parse(text, i) != 4321)
			break;
	}
	check(i == sizeof(MAKES), "one that is cut off is none, or the same");
}

/* In the place of the kernel's, one that the test writes into. */
static void test_next(void)
{
	int end[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, end))
		abort();
	check(!uevents_next(end[0]), "nothing was said");
	if (write(end[1], ENDS, sizeof(ENDS)) < 0 || write(end[1], MAKES, sizeof(MAKES)) < 0 ||
	    write(end[1], ENDS, sizeof(ENDS)) < 0)
		abort();
	check(uevents_next(end[0]) == 4321, "what is not about it is left out");
	check(!uevents_next(end[0]), "and there are no more");
	check(!uevents_next(-1), "who may not listen hears none");
	close(end[0]);
	close(end[1]);
}

int main(void)
{
	test_parse();
	test_bad();
	test_next();
	return tap_end();
}
