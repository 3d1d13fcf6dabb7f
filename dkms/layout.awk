# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's core is not rebuilt, so KVM's structures must keep its layout. In the kernel's
# include/linux/kvm_host.h with the series merged, moves the series' fields to the end of each
# structure. stock_stat takes the place of the vcpu->stat that the series replaces. dkms/fits takes
# the sizes STOCK_* from the kernel's BTF.

/^struct kvm_vcpu \{/ { inside = "vcpu" }
/^struct kvm \{/ { inside = "vm" }

/^};/ && inside {
	if (inside == "vm")
		print "\tchar stock_stats_id[48];"
	printf "%s", held
	inside = held = ""
	structures++
}

inside == "vcpu" && /^\tstruct kvm_dirty_ring / { hold = 0 }
inside == "vm" && /^\t(struct kvm_(vm_stat|stats|stats_debugfs_file) \*(stat|stats_obj|debugfs_stats_files)|u32 guest_stats);/ {
	held = held $0 "\n"
	if (/_vm_stat/)
		print "\tu64 stock_stat[STOCK_VM];"
	if (/_debugfs/)
		print "\tvoid *stock_debugfs_stat_data;"
	next
}
hold { held = held $0 "\n"; next }
{ print }
inside == "vcpu" && /^\tstruct kvm_vcpu_arch arch;/ {
	print "\tstruct {\n\t\tu64 before[STOCK_BEFORE];\n\t\tu64 signal_exits;\n\t\tu64 after[STOCK_AFTER];\n\t} stock_stat;"
	print "\tchar stock_stats_id[48];"
	hold = 1
}

END { exit structures != 2 }
