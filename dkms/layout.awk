# SPDX-License-Identifier: GPL-2.0-only
#
# Moves the fields that the series adds behind the kernel's own layout, in a copy of
# include/linux/kvm_host.h with the series applied, because the kernel's core is not rebuilt.
# The core increments signal_exits in the kernel's own vcpu->stat: stock_stat keeps its place.
# The series has no type for it, and KVM counts signal exits itself, see arch/x86/kvm/x86.c.
# The sizes are for 6.12; scripts/check-layout compares them with the kernel's BTF.

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
inside == "vm" && /^\tstruct kvm_(vm_stat|stats|stats_debugfs_file) \*(stat|stats_obj|debugfs_stats_files);/ {
	held = held $0 "\n"
	if (/_vm_stat/)
		print "\tu64 stock_stat[15];"
	if (/_debugfs/)
		print "\tvoid *stock_debugfs_stat_data;"
	next
}
hold { held = held $0 "\n"; next }
{ sub(/vcpu->stat->signal_exits\+\+/, "vcpu->stock_stat.signal_exits++"); print }
inside == "vcpu" && /^\tstruct kvm_vcpu_arch arch;/ {
	print "\tstruct {\n\t\tu64 before[116];\n\t\tu64 signal_exits;\n\t\tu64 after[21];\n\t} stock_stat;"
	print "\tchar stock_stats_id[48];"
	hold = 1
}

END { exit structures != 2 }
