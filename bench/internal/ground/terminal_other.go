//go:build !linux

package ground

import (
	"context"
	"errors"
)

// Screen is not there on this system: errors.ErrUnsupported.
func (p *Project) Screen(context.Context, string, string) (float64, error) {
	return 0, errors.ErrUnsupported
}
