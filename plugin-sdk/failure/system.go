package failure

import (
	"errors"
	"syscall"
)

// remedies are the errors by which an operating system says that it has no more to give, with what to do.
var remedies = []struct {
	errno syscall.Errno
	hint  string
}{
	{syscall.ENOSPC, "free some space, then go on"},
	{syscall.EDQUOT, "free some space within your quota, then go on"},
	{syscall.EROFS, "the file system can only be read: mount it for writing, or work elsewhere"},
	{syscall.EIO, "the disk fails: look at the system's log, then go on"},
	{syscall.EMFILE, "raise the limit of open files (ulimit -n), then go on"},
	{syscall.ENFILE, "the system has no more files to open: end what holds many, then go on"},
	{syscall.ENOMEM, "the system has no more memory: end what takes much, then go on"},
}

// OfSystem reports whether err is, by its chain, one by which the machine says that it has no more to give: no space,
// no descriptors, no memory, a disk that fails or can only be read. Then nothing is known of the work, and hint says
// what a person can do. It does not look at texts, so that an error which came from another process is none.
func OfSystem(err error) (hint string, yes bool) {
	for _, r := range remedies {
		if errors.Is(err, r.errno) {
			return r.hint, true
		}
	}
	return "", false
}
