//go:build !e2ereal

package e2ereal

import "testing"

// surround only runs the tests, because fakes use no network.
func surround(m *testing.M) int { return run(m) }
