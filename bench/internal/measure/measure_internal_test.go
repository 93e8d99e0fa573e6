package measure

import (
	"strings"
	"testing"
)

// What a part needs is said by its name before anything is measured.
func TestReady(t *testing.T) {
	if err := (part{name: "starts", needs: []string{"true"}}).ready(); err != nil {
		t.Error(err)
	}
	err := part{name: "isolation", needs: []string{"true", "no-such-program"}}.ready()
	if err == nil || !strings.Contains(err.Error(), "measure isolation: ") || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("a program that is missing: %v", err)
	}
}
