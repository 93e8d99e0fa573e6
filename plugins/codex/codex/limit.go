package codex

import (
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// defaultLimit bounds an attempt: without a network Codex has been seen to try for ever.
	defaultLimit = 15 * time.Minute
	// killDelay is the time between SIGTERM and SIGKILL when nobody says otherwise (REQUIREMENTS U271).
	killDelay = 30 * time.Second
	// exitTimeout and exitKilled are what timeout(1), which the Bash engine used, exits with.
	exitTimeout = 124
	exitKilled  = 137
)

// timeLimit is the shorter of an attempt's own limit and CODEX_TIMEOUT in env: seconds, or a number with
// s, m, h or d, as timeout(1) reads it; 0 is none. Errors are of kind config_invalid.
func timeLimit(attempt time.Duration, env []string) (time.Duration, error) {
	own := defaultLimit
	if text := cliagent.Getenv(env, "CODEX_TIMEOUT"); text != "" {
		d, ok := parseSeconds(text)
		if !ok {
			return 0, failure.New(failure.ConfigInvalid, "CODEX_TIMEOUT is %q, which is no number of seconds", text).
				WithHint("set it to seconds (900), or to a number with s, m, h or d (15m); 0 is no limit")
		}
		own = d
	}
	if attempt > 0 && (own == 0 || attempt < own) {
		return attempt, nil
	}
	return own, nil
}

func parseSeconds(text string) (time.Duration, bool) {
	unit := time.Second
	for suffix, u := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, u
			break
		}
	}
	const most = 100 * 365 * 24 * time.Hour
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || n > float64(most/unit) {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}
