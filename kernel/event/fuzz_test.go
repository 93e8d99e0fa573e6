package event_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// keyPattern is the form of a key.
var keyPattern = regexp.MustCompile(`^([a-z]+):([0-9.]*)/v(\d{1,9})/r(\d{1,9})/([^/]+)/([^/]+)/i(\d{1,9})#(\d{1,9})$`)

// FuzzKey parses any key: an accepted key has the form of one and is rebuilt from its parts.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "attempt:0/v1/r1/-/-/i1#1", "heal:2.0/v12/r3/claude/step-4/i999999999#0", "timer:/v0/r0/-/-/i0#0", "x:0/v01/r1/-/-/i1#1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, loc, n, ok := event.Key(text).Parse()
		if ok != keyPattern.MatchString(text) {
			t.Fatalf("%q is a key: %t", text, ok)
		}
		if !ok {
			return
		}
		if got := event.Key(text).Kind(); got != kind {
			t.Errorf("the kind of %q is %q alone, %q with the rest", text, got, kind)
		}
		key := loc.Key(kind, n)
		againKind, again, m, ok := key.Parse()
		if !ok || againKind != kind || m != n {
			t.Fatalf("%q became %q, which is %q, %d, %t", text, key, againKind, m, ok)
		}
		if diff := cmp.Diff(loc, again); diff != "" {
			t.Errorf("%q became %q (-first +second):\n%s", text, key, diff)
		}
	})
}
