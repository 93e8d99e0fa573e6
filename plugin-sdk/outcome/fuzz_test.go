package outcome

import (
	"net/http"
	"testing"
	"time"
)

// FuzzRetryAfter reads any headers and any words of how long to wait: it is never negative and never longer than is
// believed, and a header in whole seconds goes before one that is a date.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "3", "0.5", "-1", "1e300", "NaN", "Inf", "Sun, 22 Nov 2026 12:00:05 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "0x10"} {
		f.Add(seed, "", "")
		f.Add("", seed, "try again in "+seed)
	}
	for _, seed := range []string{"resets 3:05pm (Europe/Berlin)", "try again in 2 hours and 5 minutes", "retry in 1/5", "limit reached|1795179600", "Try again at Jan 2nd, 2026 3:05 PM", "wait 99999999999999999999h", "resets 12am (..)"} {
		f.Add("", "", seed)
	}
	f.Fuzz(func(t *testing.T, ms, seconds, message string) {
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		h := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {seconds}}
		for what, d := range map[string]time.Duration{"headers": RetryAfter(h, now), "message": waitIn(message, now), "message without a clock": waitIn(message, time.Time{})} {
			if d < 0 || d > maxWait {
				t.Errorf("%s: wait %s", what, d)
			}
		}
	})
}
