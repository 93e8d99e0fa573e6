package process

import (
	"errors"
	"syscall"
)

// killGroup ends the process group that pid leads; that it is gone already is a success.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
