//go:build !linux

package ground

import "errors"

// PeakMemory returns errors.ErrUnsupported on this system.
func PeakMemory(int) (float64, error) { return 0, errors.ErrUnsupported }

// ResidentMemory returns errors.ErrUnsupported on this system.
func ResidentMemory(int) (float64, error) { return 0, errors.ErrUnsupported }
