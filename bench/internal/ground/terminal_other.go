//go:build !linux

package ground

import (
	"context"
	"errors"
)

// Screen returns errors.ErrUnsupported on this system.
func (p *Project) Screen(context.Context, string, string) (float64, error) {
	return 0, errors.ErrUnsupported
}
