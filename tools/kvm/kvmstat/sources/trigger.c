// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of the kernel.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sources/trigger.h"

int trigger_open(int stats, const struct kvm_stats_watch *watch)
{
	int trigger = ioctl(stats, KVM_STATS_WATCH, watch);

	return trigger < 0 ? -errno : trigger;
}

/* Events may be longer than those that are known here, and none is shorter. */
ssize_t trigger_read(int trigger, struct kvm_stats_event *events, size_t max)
{
	const size_t known = sizeof(*events);
	const char *event;
	char bytes[4096];
	size_t count = 0;
	ssize_t left;
	__u32 size;

	left = read(trigger, bytes, max * known < sizeof(bytes) ? max * known : sizeof(bytes));
	if (left < 0)
		return -errno;
	for (event = bytes; left; event += size, left -= size) {
		if ((size_t)left < known)
			return -EINVAL;
		memcpy(&size, event, sizeof(size));
		if (size < known || size > (size_t)left)
			return -EINVAL;
		memcpy(&events[count++], event, known);
	}
	return count;
}
