# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel source that patches/6.12 applies to: Debian's source package, the suite that
# has it, the sha256 of the .deb, and the git tree id of the source without its top-level
# .gitignore. The tree id also verifies the source that LINUX_SRC= names.

KERNEL := 6.12
PACKAGE := linux-source-6.12
VERSION := 6.12.118-1
SUITE := trixie-security
SHA256 := b75bb2e78a5c7762254e2af7685085c788a67eb342cb4092ad2a05eaf9fc33b7
TREE := d795ecb901f82ff1b4e3fb13a8075791f949182f
