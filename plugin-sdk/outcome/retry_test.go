package outcome

import (
	"net/http"
	"testing"
	"time"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func TestRetryAfterHeader(t *testing.T) {
	tests := []struct {
		name, key, value string
		want             time.Duration
	}{
		{"seconds", "retry-after", "120", 2 * time.Minute},
		{"fraction", "Retry-After", "1.5", 1500 * time.Millisecond},
		{"milliseconds", "retry-after-ms", "250", 250 * time.Millisecond},
		{"date", "retry-after", "Fri, 20 Nov 2026 12:05:00 GMT", 5 * time.Minute},
		{"a date that has passed", "retry-after", "Fri, 20 Nov 2026 11:00:00 GMT", 0},
		{"none", "x", "1", 0},
		{"no number", "retry-after", "soon", 0},
		{"negative", "retry-after", "-1", 0},
		{"not a number", "retry-after", "NaN", 0},
		{"more than a month", "retry-after", "1e12", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.key, tt.value)
			if got := RetryAfter(h, noon); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestRetryAfterInMessages(t *testing.T) {
	const margin = clockMargin
	tests := map[string]time.Duration{
		"Rate limit reached. Please try again in 1.5s.":      1500 * time.Millisecond,
		"Please try again in 6m0s.":                          6 * time.Minute,
		"Please try again in 20ms. Visit the site":           20 * time.Millisecond,
		"try again in 20 seconds":                            20 * time.Second,
		"Try again in 3 days 4 hours 5 minutes.":             76*time.Hour + 5*time.Minute,
		"try again in 2 hours and 1 minute":                  2*time.Hour + time.Minute,
		"Please wait 60 seconds, then 5 more":                time.Minute,
		"retry-after: 30":                                    30 * time.Second,
		"Retry after 30 seconds":                             30 * time.Second,
		"retrying 1/5 … try again in 5s":                     5 * time.Second,
		"try again later":                                    0,
		"try again in 90 days":                               0,
		"try again in 90 days and 5 hours":                   0,
		"retry after 2026-11-21T15:00:00Z":                   0,
		"wait 5 more":                                        0,
		"You've hit your usage limit. Try again at 3:05 PM.": 3*time.Hour + 5*time.Minute + margin,
		"You've hit your limit · resets 3pm (UTC)":           3*time.Hour + margin,
		"You've hit your limit · resets 3pm (Asia/Tokyo)":    18*time.Hour + margin,
		"Your limit will reset at 11:30am":                   23*time.Hour + 30*time.Minute + margin,
		"or try again at Nov 22nd, 2026 1:00 PM.":            49*time.Hour + margin,
		"resets Nov 22 at 1pm":                               49*time.Hour + margin,
		"try again at Nov 1st, 2026 1:00 PM":                 0,
		"try again at 13:05 PM":                              0,
		"try again at Xyz 3, 2026 1:00 PM":                   0,
		"Claude AI usage limit reached|1795179600":           time.Hour,
		"usage limit reached|1000000000":                     0,
		"limit of 5 minutes":                                 0,
	}
	for message, want := range tests {
		if got := waitIn(message, noon); got != want {
			t.Errorf("%q: %s, want %s", message, got, want)
		}
	}
	if got := waitIn("resets 3pm", time.Time{}); got != 0 {
		t.Errorf("a time of day without now: %s", got)
	}
}

func TestRetryAfterOfAFault(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		want  time.Duration
	}{
		{"as the header said", Fault{Status: 429, Message: "try again in 5s", RetryAfter: time.Minute}, time.Minute},
		{"as the message says", Fault{Status: 429, Message: "try again in 5s"}, 5 * time.Second},
		{"of a service that is down", Fault{Status: 503, RetryAfter: time.Minute}, time.Minute},
		{"not where waiting does not help", Fault{Status: 401, Message: "try again in 5s", RetryAfter: time.Minute}, 0},
		{"negative", Fault{Status: 429, RetryAfter: -time.Minute}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, f := Agent{}.Decide(Evidence{WroteEvents: true, FinalStatus: Failure, Fault: tt.fault, Now: noon})
			if got := time.Duration(f.RetryAfterSeconds * float64(time.Second)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
