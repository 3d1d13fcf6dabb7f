# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel source that the series is made for: Debian's source package, its
# versions (the first is the default), and for each of them the suite that has
# it, the sha256 of the .deb, and the git tree id of the source without the
# .gitignore at its top, which also recognises a LINUX_SRC= of one's own.

BASE_PACKAGE := linux-source-5.10
BASE_VERSIONS := 5.10.262-1 5.10.223-1

5.10.262-1_SUITE := bullseye-security
5.10.262-1_SHA256 := 4f01148344ca9e5c1c9743ab4a084cf61c437548f803443ccc044602278b52bc
5.10.262-1_TREE := 407ee099717ecd7168546d2d1d094ceaa2f0d59a

5.10.223-1_SUITE := bullseye
5.10.223-1_SHA256 := f733d27d239d65598d96d7a72f71ac50f49f2380192a1b3b4ca2f5ad5144dd63
5.10.223-1_TREE := a3f1405af33a4fdb5d6fda64d7fb7a3e6fc8cc2c
