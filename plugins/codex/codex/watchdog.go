package codex

import (
	"cmp"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// doneGrace is the time between SIGTERM and SIGKILL after the work is done.
	doneGrace = time.Second
	// quietIntervals is the number of silent intervals before a result counts.
	quietIntervals = 4
)

// watchdog detects finished work by the files that the agent writes, because Codex sometimes stays after it has written
// everything. Two files count:
//
//   - status.json counts at once if its decision is continue or stop: the agent then states that this iteration is over
//     (the Bash engine's rule; BASH-BEHAVIOUR section 6 and D32).
//   - result.json counts only if it is complete and unchanged since the last check, no tool is running, and Codex has been
//     silent for four intervals. The agent may write this file early.
//
// Files from before the attempt and incomplete files do not count. A watchdog belongs to one attempt; a nil watchdog
// detects nothing.
type watchdog struct {
	status, result watchedFile
	timing         watchTiming
	// busy reports whether a tool is running.
	busy func() bool

	lastResult string // the result at the last check
}

// newWatchdog records the files before the attempt. It returns nil if the watchdog is off or there is no file to watch, as
// for a question.
func newWatchdog(req sdk.ExecuteRequest, t watchTiming) *watchdog {
	// The kernel sets the same path in both places. A variable of the user or of an outer run names another attempt's file
	// and is ignored.
	status := cmp.Or(req.Paths.Status, req.Environment["CODEX_STATUS_FILE"])
	if t.off || status == "" && req.Paths.Result == "" {
		return nil
	}
	return &watchdog{status: watchFile(status), result: watchFile(req.Paths.Result), timing: t}
}

// newSign returns the sign of completion that package cliagent polls; nil for a nil watchdog. busy may be called from
// another goroutine than the stream's.
func (w *watchdog) newSign(busy func() bool) *cliagent.Completion {
	if w == nil {
		return nil
	}
	w.busy = busy
	return &cliagent.Completion{Reached: w.isDone, Every: w.timing.every, Linger: w.timing.linger, Grace: doneGrace}
}

func (w *watchdog) isDone(silence time.Duration) bool {
	if w.hasDecision() {
		return true
	}
	result := w.result.read()
	same := string(result) == w.lastResult
	w.lastResult = string(result)
	return same && isObject(result) && !w.busy() && silence >= quietIntervals*w.timing.every
}

// hasDecision reports whether the agent has written that the iteration is over.
func (w *watchdog) hasDecision() bool {
	return w != nil && isDecision(w.status.read())
}

// verdict returns the outcome of an attempt with the watchdog's evidence. A Codex that the watchdog ended, or that
// exited with an error code after the agent's decision, did its work (D32). A failed turn takes precedence. If Codex
// was not ended by the watchdog, a reported error or a signal takes precedence, too.
func (w *watchdog) verdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	outcome, f := verdict(s, end)
	switch {
	case f == nil || s.failed:
		return outcome, f
	case end.StopReason == cliagent.StopDone:
		return sdk.OutcomeSucceeded, nil
	case end.StopReason == cliagent.StopNone && end.ExitCode > 0 && (s.lastError == "" || retryNotice.MatchString(s.lastError)) && w.hasDecision():
		return sdk.OutcomeSucceeded, nil
	}
	return outcome, f
}
