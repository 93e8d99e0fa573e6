package codex

import (
	"cmp"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// doneGrace is the time between SIGTERM and SIGKILL for a Codex whose work is done.
	doneGrace = time.Second
	// quietLooks is for how many intervals Codex has to be silent before a result counts.
	quietLooks = 4
)

// watchdog tells by the files that the agent writes that its work is done, because Codex has been seen
// to stay for good after it had written everything. Two files count:
//
//   - status.json with the decision continue or stop, at once: it is the agent's own word that this
//     iteration is over (the Bash engine's rule; BASH-BEHAVIOUR section 6 and D32);
//   - result.json, which says nothing of an end and may be written early: only when it is whole, has
//     not changed since the last look, no tool is at work, and Codex has been silent for four intervals.
//
// What lay there before the attempt does not count, nor does a file that is written in part. It belongs
// to one attempt; a nil watchdog sees nothing.
type watchdog struct {
	status, result watched
	timing         watchTiming
	// busy reports whether a tool is at work.
	busy func() bool

	last string // the result at the last look
}

// newWatchdog looks at what is there before the attempt. Nil: it is switched off, or there is no file to
// look at, as for a question.
func newWatchdog(req sdk.ExecuteRequest, t watchTiming) *watchdog {
	// The kernel says the same in both places. The user's own variable, or one inherited from a run
	// around this one, names another attempt's file and is not asked.
	status := cmp.Or(req.Paths.Status, req.Environment["CODEX_STATUS_FILE"])
	if t.off || status == "" && req.Paths.Result == "" {
		return nil
	}
	return &watchdog{status: watch(status), result: watch(req.Paths.Result), timing: t}
}

// sign is the watchdog in the form of package cliagent. Busy may be called from another goroutine than
// the one that reads the stream.
func (w *watchdog) sign(busy func() bool) *cliagent.Sign {
	if w == nil {
		return nil
	}
	w.busy = busy
	return &cliagent.Sign{Holds: w.done, Every: w.timing.every, Linger: w.timing.linger, Grace: doneGrace}
}

func (w *watchdog) done(silence time.Duration) bool {
	if w.decided() {
		return true
	}
	result := w.result.read()
	same := string(result) == w.last
	w.last = string(result)
	return same && isObject(result) && !w.busy() && silence >= quietLooks*w.timing.every
}

// decided reports whether the agent has written that the iteration is over.
func (w *watchdog) decided() bool {
	return w != nil && isDecision(w.status.read())
}

// settle is the verdict on an attempt in the light of the watchdog. A Codex that it ended, or that
// exited with a code after the agent's decision, did its work (D32). Evidence against that counts more:
// a failed turn, an error that Codex reported before it exited, a signal that was not ours.
func (w *watchdog) settle(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	outcome, f := verdict(s, end)
	switch {
	case f == nil || s.failed:
		return outcome, f
	case end.Cut == cliagent.CutDone:
		return sdk.OutcomeSucceeded, nil
	case end.Cut == cliagent.CutNone && end.ExitCode > 0 && (s.trouble == "" || notice.MatchString(s.trouble)) && w.decided():
		return sdk.OutcomeSucceeded, nil
	}
	return outcome, f
}
