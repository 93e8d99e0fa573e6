//go:build !linux

package ground

import "errors"

// PeakMemory is not known on this system: errors.ErrUnsupported.
func PeakMemory(int) (float64, error) { return 0, errors.ErrUnsupported }

// ResidentMemory is not known on this system: errors.ErrUnsupported.
func ResidentMemory(int) (float64, error) { return 0, errors.ErrUnsupported }
