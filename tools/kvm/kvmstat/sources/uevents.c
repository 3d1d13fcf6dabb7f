// SPDX-License-Identifier: GPL-2.0
/*
 * Uevents come by netlink, one a message: a text of KEY=VALUE, each with a NUL at its end,
 * behind one that is no such pair. None but the kernel, or who may configure the network,
 * can send them.
 */
#include <limits.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sources/uevents.h"
#include "util/util.h"

/* More than the kernel has room for in one. */
#define UEVENT_SIZE 4096

int uevents_open(void)
{
	const struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = 1, };
	int uevents = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			     NETLINK_KOBJECT_UEVENT);

	if (uevents >= 0)
		bind(uevents, (const struct sockaddr *)&all, sizeof(all));
	return uevents;
}

pid_t uevent_parse(const char *text, size_t length)
{
	bool is_kvm = false, created = false;
	const char *field;
	uint64_t pid = 0;

	for (field = text; field < text + length; field += strlen(field) + 1) {
		is_kvm |= !strcmp(field, "DEVNAME=kvm");
		created |= !strcmp(field, "EVENT=create");
		if (!strncmp(field, "PID=", strlen("PID=")))
			parse_number(field + strlen("PID="), 1, INT_MAX, &pid);
	}
	return is_kvm && created ? pid : 0;
}

pid_t uevents_next(int uevents)
{
	char text[UEVENT_SIZE];
	ssize_t length;
	pid_t pid;

	while ((length = read(uevents, text, sizeof(text) - 1)) > 0) {
		text[length] = '\0';
		pid = uevent_parse(text, length);
		if (pid)
			return pid;
	}
	return 0;
}
