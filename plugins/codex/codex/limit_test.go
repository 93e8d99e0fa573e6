package codex

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestParseTimeLimit(t *testing.T) {
	tests := []struct {
		name    string
		attempt time.Duration
		value   string
		want    time.Duration
		grace   time.Duration
		kind    failure.Kind
	}{
		{"default", 0, "", 900 * time.Second, 30 * time.Second, ""},
		{"seconds", 0, "60", time.Minute, 30 * time.Second, ""},
		{"fraction", 0, "0.5", 500 * time.Millisecond, 30 * time.Second, ""},
		{"minutes", 0, "2m", 2 * time.Minute, 30 * time.Second, ""},
		{"none", 0, "0", 0, 30 * time.Second, ""},
		{"none, but the attempt has one", time.Hour, "0", time.Hour, 0, ""},
		{"the attempt's is shorter", time.Minute, "", time.Minute, 0, ""},
		{"the attempt's is the same", 900 * time.Second, "", 900 * time.Second, 0, ""},
		{"the attempt's is longer", time.Hour, "", 900 * time.Second, 30 * time.Second, ""},
		{"negative", 0, "-1", 0, 0, failure.ConfigInvalid},
		{"no number", 0, "soon", 0, 0, failure.ConfigInvalid},
		{"not a number", 0, "nan", 0, 0, failure.ConfigInvalid},
		{"too long for a clock", 0, "1e300d", 0, 0, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readLimits(tt.attempt, Config{Watchdog: true}, []string{"CODEX_TIMEOUT=" + tt.value})
			if got.total != tt.want || got.grace != tt.grace || failure.KindOf(err) != tt.kind {
				t.Errorf("timing = %+v, %v; want %s, grace %s, kind %q", got, err, tt.want, tt.grace, tt.kind)
			}
		})
	}
}

func TestWatchTiming(t *testing.T) {
	usual := watchTiming{every: 15 * time.Second, linger: 5 * time.Second}
	off := usual
	off.off = true
	tests := []struct {
		name   string
		config bool
		env    []string
		want   watchTiming
		kind   failure.Kind
	}{
		{"default", true, nil, usual, ""},
		{"off by the configuration", false, []string{"CODEX_WATCHDOG=true"}, off, ""},
		{"off by the environment", true, []string{"CODEX_WATCHDOG=false"}, off, ""},
		{"off by 0", true, []string{"CODEX_WATCHDOG=0"}, off, ""},
		{"on by the environment", true, []string{"CODEX_WATCHDOG=TRUE"}, usual, ""},
		{"neither", true, []string{"CODEX_WATCHDOG=perhaps"}, watchTiming{}, failure.ConfigInvalid},
		{
			"own times", true,
			[]string{"CODEX_POLL_INTERVAL=1m", "CODEX_GRACE_PERIOD=0"},
			watchTiming{every: time.Minute},
			"",
		},
		{"no interval", true, []string{"CODEX_POLL_INTERVAL=0"}, watchTiming{}, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readLimits(0, Config{Watchdog: tt.config}, tt.env)
			if got.watch != tt.want || failure.KindOf(err) != tt.kind {
				t.Errorf("timing = %+v, %v; want %+v, kind %q", got.watch, err, tt.want, tt.kind)
			}
		})
	}
}

// FuzzSeconds: an accepted time is not negative and does not overflow.
func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"900", "0.5", "15m", "1e300d", "nan", "-1", "s", "infs", "0x1p-2h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := parseSeconds(text); d < 0 || d > 101*365*24*time.Hour || !ok && d != 0 {
			t.Errorf("%q is %s, %t", text, d, ok)
		}
	})
}
