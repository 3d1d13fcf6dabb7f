# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel source that patches/7.3 applies to: Debian's source package, the suite that
# has it, the sha256 of the .deb, and the git tree id of the source without its top-level
# .gitignore. The tree id also verifies the source that LINUX_SRC= names.

KERNEL := 7.3
PACKAGE := linux-source-7.3
VERSION := 7.3.4-1~bpo13+1
SUITE := trixie-backports
SHA256 := 703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3
TREE := f82a812cb10102838a32d31834a24c1812f736e5
# Selftests' directories that this base has by another name
SELFTESTS := x86_64=x86 aarch64=arm64
