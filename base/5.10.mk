# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel source that patches/5.10 applies to: Debian's source package, the suite that
# has it, the sha256 of the .deb, and the git tree id of the source without its top-level
# .gitignore. The tree id also verifies the source that LINUX_SRC= names.

KERNEL := 5.10
PACKAGE := linux-source-5.10
VERSION := 5.10.262-1
SUITE := bullseye-security
SHA256 := 4f01148344ca9e5c1c9743ab4a084cf61c437548f803443ccc044602278b52bc
TREE := 407ee099717ecd7168546d2d1d094ceaa2f0d59a
