package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync syncs the data and the length of a file without its times.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
