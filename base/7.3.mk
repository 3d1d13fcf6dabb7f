# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel source that patches/7.3 applies to: Debian's source package, the suite that
# has it, the sha256 of the .deb, and the git tree id of the source without its top-level
# .gitignore. The tree id also verifies the source that LINUX_SRC= names.

KERNEL := 7.3
PACKAGE := linux-source-7.3
VERSION := 7.3~rc7-1~exp1
SUITE := experimental
SHA256 := 8bf8ca5ea8b1b307ca698db982ba48d6d223263b4d3dfb1973d055e316c44e75
TREE := 7d7e8a5f787143d2b9b3fd32f582f0c6d3b78cd6
# Selftests' directories that this base has by another name
SELFTESTS := x86_64=x86 aarch64=arm64
