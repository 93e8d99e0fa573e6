package codex

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestTimeLimitOf(t *testing.T) {
	tests := []struct {
		name    string
		attempt time.Duration
		value   string
		want    time.Duration
		kind    failure.Kind
	}{
		{"default", 0, "", 900 * time.Second, ""},
		{"seconds", 0, "60", time.Minute, ""},
		{"fraction", 0, "0.5", 500 * time.Millisecond, ""},
		{"minutes", 0, "2m", 2 * time.Minute, ""},
		{"none", 0, "0", 0, ""},
		{"none, but the attempt has one", time.Hour, "0", time.Hour, ""},
		{"the attempt's is shorter", time.Minute, "", time.Minute, ""},
		{"the attempt's is longer", time.Hour, "", 900 * time.Second, ""},
		{"negative", 0, "-1", 0, failure.ConfigInvalid},
		{"no number", 0, "soon", 0, failure.ConfigInvalid},
		{"not a number", 0, "nan", 0, failure.ConfigInvalid},
		{"too long for a clock", 0, "1e300d", 0, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var env []string
			if tt.value != "" {
				env = []string{"CODEX_TIMEOUT=" + tt.value}
			}
			got, err := timeLimit(tt.attempt, env)
			if got != tt.want || failure.KindOf(err) != tt.kind {
				t.Errorf("timeLimit = %s, %v; want %s, kind %q", got, err, tt.want, tt.kind)
			}
		})
	}
}
