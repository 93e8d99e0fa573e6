//go:build !linux

package e2ereal

import "errors"

// Processes returns [errors.ErrUnsupported], because it needs the /proc of Linux.
func Processes(string) ([]string, error) { return nil, errors.ErrUnsupported }
