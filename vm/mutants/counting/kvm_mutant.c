// SPDX-License-Identifier: GPL-2.0-only
/*
 * Selects the counting site that is broken, and records which sites were reached. Built in, so
 * that it exists before KVM is loaded and after it is unloaded.
 */
#include <kunit/test.h>
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kvm_mutant.h>
#include <linux/kvm_mutant_sites.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>

unsigned int kvm_mutant;
EXPORT_SYMBOL_GPL(kvm_mutant);
core_param(kvm_mutant, kvm_mutant, uint, 0644);

u8 kvm_mutant_reached[KVM_MUTANT_SITES + 1];
EXPORT_SYMBOL_GPL(kvm_mutant_reached);

/* Reading shows the numbers of the sites that were reached since the last write. */
static int reached_show(struct seq_file *file, void *unused)
{
	unsigned int site;

	for (site = 1; site <= KVM_MUTANT_SITES; site++)
		if (READ_ONCE(kvm_mutant_reached[site]))
			seq_printf(file, " %u", site);
	return 0;
}

static int reached_open(struct inode *inode, struct file *file)
{
	return single_open(file, reached_show, NULL);
}

static ssize_t reached_write(struct file *file, const char __user *text, size_t size,
			     loff_t *pos)
{
	memset(kvm_mutant_reached, 0, sizeof(kvm_mutant_reached));
	return size;
}

static const struct file_operations reached_fops = {
	.open = reached_open,
	.read = seq_read,
	.write = reached_write,
	.release = single_release,
};

/* Before Linux 6.0, each entry of the table is a list of suites; later, it is a suite. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 0, 0)
typedef struct kunit_suite **table_entry;

static void run_entry(table_entry suite)
{
	for (; *suite; suite++)
		kunit_run_tests(*suite);
}
#else
typedef struct kunit_suite *table_entry;

static void run_entry(table_entry suite)
{
	kunit_run_tests(suite);
}
#endif

/*
 * A write runs KUnit's suites again; suites with parameters would need more. Keep their table,
 * which older kernels free with init memory.
 */
extern table_entry __kunit_suites_start[], __kunit_suites_end[];
static table_entry *suites;
static size_t num_suites;

static ssize_t kunit_write(struct file *file, const char __user *text, size_t size,
			   loff_t *pos)
{
	size_t i;

	for (i = 0; i < num_suites; i++)
		run_entry(suites[i]);
	return size;
}

static const struct file_operations kunit_fops = {
	.open = simple_open,
	.write = kunit_write,
};

static int __init kvm_mutant_init(void)
{
	num_suites = __kunit_suites_end - __kunit_suites_start;
	suites = kmemdup(__kunit_suites_start, num_suites * sizeof(*suites), GFP_KERNEL);
	if (!suites)
		return -ENOMEM;
	debugfs_create_file("kvm_mutant_reached", 0644, NULL, NULL, &reached_fops);
	debugfs_create_file("kvm_mutant_kunit", 0200, NULL, NULL, &kunit_fops);
	return 0;
}
late_initcall(kvm_mutant_init);
