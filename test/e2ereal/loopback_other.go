//go:build !linux

package e2ereal

import "errors"

// Inside returns false, because this system has no network namespaces.
func Inside() bool { return false }

// Isolated returns [errors.ErrUnsupported], because only Linux has network namespaces.
func Isolated(...string) (int, error) { return 0, errors.ErrUnsupported }

// LoopbackUp returns [errors.ErrUnsupported], because only Linux has network namespaces.
func LoopbackUp() error { return errors.ErrUnsupported }
