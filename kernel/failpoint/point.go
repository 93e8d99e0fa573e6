//go:build !crashpoints

package failpoint

// Point marks a moment at which the process may die. Names are "<package>.<action>.<moment>".
func Point(string) {}

// BeforeWrite announces a change of the file at this path, or its creation. The elements are joined as by
// [path/filepath.Join].
func BeforeWrite(...string) {}

// AfterSync records that the content of the file at this path is on the disk.
func AfterSync(...string) {}

// BeforeRename announces the renaming of a file in a directory: the directory, the old name, the new name.
func BeforeRename(_, _, _ string) {}

// BeforeRemove announces the removal of the file or empty directory at this path.
func BeforeRemove(...string) {}

// AfterMkdir records that the directory at this path was made.
func AfterMkdir(...string) {}

// AfterSyncDir records that the names in the directory at this path are on the disk.
func AfterSyncDir(...string) {}

// HasDefect reports whether the kernel has the named fault, so that a test can prove that it detects the fault. The
// result is always false in a normal build.
func HasDefect(string) bool { return false }
