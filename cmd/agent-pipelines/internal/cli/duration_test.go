package cli

import (
	"strings"
	"testing"
	"time"
)

// FuzzAge checks that an accepted age is between 0 and [MaxAge], and that Go's text of it gives the same age.
func FuzzAge(f *testing.F) {
	for _, seed := range []string{"30d", "2w", "36h", "1h30m", "-1h", "d", "", "1.5d", "99999d", "36501d", "5214w", "31000w", "9223372036854775807ns", "1e3h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, again Age
		if err := a.UnmarshalText([]byte(text)); err != nil {
			if !strings.Contains(err.Error(), "30d") || a != 0 {
				t.Errorf("%q is %d and %v", text, a, err)
			}
			return
		}
		if d := time.Duration(a); d < 0 || d > MaxAge || again.UnmarshalText([]byte(d.String())) != nil || again != a {
			t.Errorf("%q is %s, then %s", text, d, time.Duration(again))
		}
	})
}
