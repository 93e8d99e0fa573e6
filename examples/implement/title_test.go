package text

import "testing"

func TestTitle(t *testing.T) {
	if got := Title("  a b "); got != "a b" {
		t.Errorf("Title is %q", got)
	}
}
