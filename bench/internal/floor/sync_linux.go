package floor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync is the sync of the engine's journal.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
