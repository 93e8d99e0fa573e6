package floor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync syncs as the engine's journal does.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
