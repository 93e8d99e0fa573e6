package codex

import (
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// defaultLimit limits an attempt: without a network Codex may retry forever.
	defaultLimit = 15 * time.Minute
	// killDelay is the time between SIGTERM and SIGKILL at the end of CODEX_TIMEOUT (REQUIREMENTS U271).
	killDelay = 30 * time.Second
	// exitTimeout and exitKilled are the exit codes of timeout(1), which the Bash engine used.
	exitTimeout = 124
	exitKilled  = 137
	// defaultGracePeriod is the time that Codex may stay after its work is done.
	defaultGracePeriod = 5 * time.Second
)

// limits are the time limits of an attempt.
type limits struct {
	total time.Duration // 0 is no limit
	// grace is the time between SIGTERM and SIGKILL at the end of total, 0 for the default. If total is the attempt's
	// own limit, the kernel has the same deadline and waits only the default time.
	grace time.Duration
	watch watchTiming
}

// watchTiming is the configuration of the watchdog.
type watchTiming struct {
	off    bool
	every  time.Duration // between two checks
	linger time.Duration // the time that Codex may stay after its work is done
}

// readLimits returns the limits of an attempt. total is the shorter of the attempt's own limit and CODEX_TIMEOUT. The
// watchdog is off if the configuration or CODEX_WATCHDOG disables it. All variables are read from env. Errors are of
// kind config_invalid.
func readLimits(attempt time.Duration, cfg Config, env []string) (limits, error) {
	own, err := readDuration(env, "CODEX_TIMEOUT", defaultLimit)
	if err != nil {
		return limits{}, err
	}
	l := limits{total: own, grace: killDelay}
	if attempt > 0 && (own == 0 || attempt <= own) {
		l.total, l.grace = attempt, 0
	}
	on, err := readSwitch(env, "CODEX_WATCHDOG")
	if err != nil {
		return limits{}, err
	}
	l.watch.off = !on || !cfg.Watchdog
	if l.watch.every, err = readDuration(env, "CODEX_POLL_INTERVAL", cliagent.DefaultCheckInterval); err != nil {
		return limits{}, err
	}
	if l.watch.every == 0 {
		return limits{}, failure.New(failure.ConfigInvalid, "CODEX_POLL_INTERVAL is 0").
			WithHint("set it to seconds (15); CODEX_WATCHDOG=false switches the watchdog off")
	}
	l.watch.linger, err = readDuration(env, "CODEX_GRACE_PERIOD", defaultGracePeriod)
	return l, err
}

// readDuration reads a variable with seconds, or with a number and s, m, h or d, as for timeout(1).
func readDuration(env []string, variable string, otherwise time.Duration) (time.Duration, error) {
	text := cliagent.Getenv(env, variable)
	if text == "" {
		return otherwise, nil
	}
	d, ok := parseSeconds(text)
	if !ok {
		f := failure.New(failure.ConfigInvalid, "%s is %q, which is not a number of seconds", variable, text)
		return 0, f.WithHint("set it to seconds (%g), or to a number with s, m, h or d (15m)", otherwise.Seconds())
	}
	return d, nil
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

// readSwitch reads a variable that is on by default.
func readSwitch(env []string, variable string) (bool, error) {
	switch value := cliagent.Getenv(env, variable); strings.ToLower(value) {
	case "", "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	default:
		return false, failure.New(failure.ConfigInvalid, "%s is %q", variable, value).WithHint("set it to true or false")
	}
}
