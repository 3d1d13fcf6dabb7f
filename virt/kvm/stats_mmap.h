/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __KVM_STATS_MMAP_H__
#define __KVM_STATS_MMAP_H__

struct kvm_stats;
struct vm_area_struct;

int kvm_stats_mmap(struct kvm_stats *stats, struct vm_area_struct *vma);

#endif
