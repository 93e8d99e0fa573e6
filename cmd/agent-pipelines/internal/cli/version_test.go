package cli

import (
	"testing"
)

// The module of a new plugin can require only a published SDK.
func TestReleased(t *testing.T) {
	for _, tt := range []struct {
		version, commit string
		want            bool
	}{
		{"0.1.0", "", true},
		{"0.1.0", "abcdef", true}, // at the tag itself
		{"1.0.0-rc.1", "", true},
		{"0.0.0-20260102030405-0123456789ab", "", true}, // go install @commit
		{"0.0.0-20260102030405-0123456789ab", "0123456789abcdef", false},
		{"0.1.1-0.20260102030405-0123456789ab", "0123456789abcdef", false},
		{"0.1.0+dirty", "abcdef", false},
		{"0.0.0-dev", "", false},
		{"0.0.0-dev+gabcdef", "", false},
		{"0.1.0-3-gabcdef0", "", false},
		{"0.1.0-dirty", "", false},
		{"(devel)", "", false},
		{"", "", false},
	} {
		if got := (BuildInfo{Version: tt.version, Commit: tt.commit}).Released(); got != tt.want {
			t.Errorf("version %q of commit %q: released %v", tt.version, tt.commit, got)
		}
	}
}
