//go:build !linux

package e2ereal

import "errors"

// Processes is known for Linux only; elsewhere it returns [errors.ErrUnsupported].
func Processes(string) ([]string, error) { return nil, errors.ErrUnsupported }
