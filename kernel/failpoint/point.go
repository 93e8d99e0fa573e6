//go:build !crashpoints

package failpoint

// Point is where the process may die. Names are "<room>.<act>.<moment>".
func Point(string) {}

// BeforeWrite tells that the content of the file at this path is about to change, or that the file is about to be
// made. The elements are joined as by [path/filepath.Join].
func BeforeWrite(...string) {}

// AfterSync tells that the content of the file at this path is on the disk.
func AfterSync(...string) {}

// BeforeRename tells that a file is about to get another name in a directory: the directory, the old name, the new one.
func BeforeRename(_, _, _ string) {}

// BeforeRemove tells that the file at this path, or the empty directory, is about to be removed.
func BeforeRemove(...string) {}

// AfterMkdir tells that the directory at this path was made.
func AfterMkdir(...string) {}

// AfterSyncDir tells that the names in the directory at this path are on the disk.
func AfterSyncDir(...string) {}

// Defect reports whether the kernel is to be wrong in this way, so that a test can show that it is found out:
// never, in a normal build.
func Defect(string) bool { return false }
