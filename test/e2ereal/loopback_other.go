//go:build !linux

package e2ereal

import "errors"

// Inside is false: there are no network namespaces.
func Inside() bool { return false }

// Isolated is known for Linux only; elsewhere it returns [errors.ErrUnsupported].
func Isolated(...string) (int, error) { return 0, errors.ErrUnsupported }

// LoopbackUp is known for Linux only; elsewhere it returns [errors.ErrUnsupported].
func LoopbackUp() error { return errors.ErrUnsupported }
