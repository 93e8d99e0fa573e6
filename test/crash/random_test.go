//go:build crashpoints

package crash

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// D2: TestCrashAtRandom kills at random moments, up to twice in one run. The first kill is of the kernel, of the kernel
// with all its plugins, or of the plugins alone; the second is of the kernel.
func TestCrashAtRandom(t *testing.T) {
	p, times := build(t), 20
	if *short {
		times = 2
	}
	for seed, subj := range subjects {
		t.Run(subj.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := undisturbed(t, p, subj)
			takes := time.Since(began) / time.Duration(len(subj.way))
			for i := range times {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					atRandom(t, p, subj, c.want, 100*seed+i, takes)
				})
			}
		})
	}
}

func atRandom(t *testing.T, p program, subj subject, want crashtest.Outcome, seed int, takes time.Duration) {
	random, w := shuffled(seed), newWorld(t, p, subj)
	target := []string{"agent-pipelines ", "", "agent-plugin-"}[seed%3]
	w.pluginKilled = target == "agent-plugin-"
	w.killAfter(time.Duration(random.Int64N(int64(takes))), target, subj.way[0].args...)
	if !w.waits(0) {
		w.killAfter(time.Duration(random.Int64N(int64(takes))), "agent-pipelines ", append([]string{"resume", "s"}, subj.flags...)...)
	}
	w.recover(0)
	w.walk(1)
	for _, diff := range w.differences(want, false) {
		t.Error(diff)
	}
}

var (
	missing    = regexp.MustCompile(`^(events: \S+ \w+:\S+)#\d+((?: \S+)?: )missing: (.*)$`)
	unexpected = regexp.MustCompile(`^(events: \S+ \w+:\S+)#\d+((?: \S+)?: )unexpected: (.*)$`)
	otherwise  = regexp.MustCompile(`^(events: decision \w+:\S+)#\d+, data\.\w+: `)
)

// number matches the number of an attempt, at the end of a key or in the data of a failure.
var number = regexp.MustCompile(`#\d+|"attempt":\d+`)

// madeAgain matches a call of a later attempt than the first, or the question about such a call. [world.effects] checks
// the number of calls.
var madeAgain = regexp.MustCompile(`^events: (tool_call|tool_result|question_asked) \S+#([2-9]|\d\d+)[ :]`)

// otherOutcome matches the failure of a hook, a check or a strategy's question because its plugin was killed. Then
// the run has another outcome: a hook is not repeated, a failed check returns the work, and a strategy may ask
// another question.
var otherOutcome = regexp.MustCompile(`^events: (hook_complete|check_result|strategy_answer) \S+, data\.(error|failure): unexpected: .* ended unexpectedly \(signal`)

// sameEvent returns the part of an event that is equal in two attempts: its type, place, call and text.
func sameEvent(m []string) string { return m[1] + m[2] + number.ReplaceAllString(m[3], "") }

// exceptRetries removes the differences that follow from a killed plugin. An attempt or a decision is then repeated and
// recorded under the next number, and a node whose strategy could not decide fails first. It removes all differences if
// the run may have another outcome.
func exceptRetries(wrong []string) []string {
	if slices.ContainsFunc(wrong, otherOutcome.MatchString) {
		return nil
	}
	lacks, decided := map[string]bool{}, map[string]bool{} // events, without their attempts' numbers
	for _, diff := range wrong {
		if m := missing.FindStringSubmatch(diff); m != nil {
			lacks[sameEvent(m)] = true
		}
	}
	again := map[string]bool{}
	for _, diff := range wrong {
		m := unexpected.FindStringSubmatch(diff)
		if m == nil {
			continue
		}
		if lacks[sameEvent(m)] {
			again[sameEvent(m)] = true
		}
		decided[m[1]] = true
	}
	return slices.DeleteFunc(wrong, func(diff string) bool {
		if m := missing.FindStringSubmatch(diff); m != nil {
			return again[sameEvent(m)]
		}
		if m := otherwise.FindStringSubmatch(diff); m != nil {
			return decided[m[1]]
		}
		if m := unexpected.FindStringSubmatch(diff); m != nil && (again[sameEvent(m)] || madeAgain.MatchString(diff) || strings.HasPrefix(diff, "events: decision ")) {
			return true
		}
		return strings.HasPrefix(diff, "events: error ") || strings.HasPrefix(diff, "events: retry ") || strings.Contains(diff, "/error.json") ||
			strings.HasPrefix(diff, "events: node_complete ") && strings.Contains(diff, "unexpected: ") && strings.Contains(diff, string(failure.ProviderCrashed))
	})
}

// TestExceptRetries checks that an event of another attempt counts as the same event only if its data is equal.
func TestExceptRetries(t *testing.T) {
	same := []string{
		"events: iteration_complete attempt:0/v1/r1/-/-/i1#1: missing: {x}",
		"events: iteration_complete attempt:0/v1/r1/-/-/i1#2: unexpected: {x}",
		"events: tool_call attempt:0/v1/r1/-/-/i1#1 call-1: missing: {x attempt:0#1}",
		"events: tool_call attempt:0/v1/r1/-/-/i1#2 call-1: unexpected: {x attempt:0#2}",
		"events: tool_call attempt:0/v1/r1/-/-/i1#2 call-3: unexpected: {x}", // the call of the first attempt is recorded, too
		"events: retry attempt:0/v1/r1/-/-/i1#2: unexpected: {y}",
		"stage-00-write/iterations/001/error.json: unexpected: {z}",
		"stage-00-write/iterations/001/error.json, attempt: expected 1, got 2",
		`events: error settle:0/v1/r1/-/-/i1#1: missing: {"attempt":1,"code":"x"}`,
		`events: error settle:0/v1/r1/-/-/i1#2: unexpected: {"attempt":2,"code":"x"}`,
		"events: iteration_complete settle:2/v1/r1/-/-/i1#1: missing: {y}",
		"events: iteration_complete settle:2/v1/r1/-/-/i1#2: unexpected: {y}",
		`events: decision decide:0/v1/r1/-/-/i1#1, data.action: expected "continue", got "error"`,
		"events: decision decide:0/v1/r1/-/-/i1#1: unexpected: {continue}",
		`events: node_complete of node 0: unexpected: {"data":{"failure":{"error_type":"provider_crashed"}}}`,
		"events: question_asked attempt:0/v1/r1/-/-/i1#2: unexpected: {x}",
	}
	if left := exceptRetries(same); len(left) != 0 {
		t.Errorf("left of a retry: %q", left)
	}
	other := []string{
		"events: iteration_complete attempt:0/v1/r1/-/-/i1#1: missing: {x}",
		"events: iteration_complete attempt:0/v1/r1/-/-/i1#2: unexpected: {other}",
		"events: tool_call attempt:0/v1/r1/-/-/i1#1 call-1: missing: {x}",
		"events: tool_call attempt:0/v1/r1/-/-/i1#1 call-2: unexpected: {x}",
		"events: decision decide:0/v1/r1/-/-/i1#1: missing: {x}",
		`events: decision decide:0/v1/r1/-/-/i2#1, data.action: expected "continue", got "error"`,
		`events: node_complete of node 0: unexpected: {"data":{"status":"complete"}}`,
		`events: error settle:0/v1/r1/-/-/i1#1: missing: {"attempt":1,"code":"x"}`,
		"events: question_asked attempt:0/v1/r1/-/-/i1#1: unexpected: {x}",
		`events: hook_complete hook:0/v1/r1/-/-/i1#3, data.error: unexpected: {"message":"exit code 1"}`,
	}
	if left := exceptRetries(slices.Clone(other)); !slices.Equal(left, other) {
		t.Errorf("left of real differences: %q", left)
	}
	for _, dead := range []string{
		`events: hook_complete hook:0/v1/r1/-/-/i1#3, data.error: unexpected: {"message":"plugin p ended unexpectedly (signal: killed)"}`,
		`events: check_result check:2/v1/r1/-/-/i0#1, data.failure: unexpected: {"message":"plugin p ended unexpectedly (signal: …`,
		`events: strategy_answer question:1/v1/r1/-/-/i1#1, data.error: unexpected: "plugin p ended unexpectedly (signal: killed)"`,
	} {
		if left := exceptRetries(append([]string{dead}, other...)); len(left) != 0 {
			t.Errorf("left of another outcome: %q", left)
		}
	}
}

// killAfter starts the command, and after d it kills the processes of the world whose command line contains target. An
// empty target kills all. A command whose plugins alone are killed continues to its end.
func (w *world) killAfter(d time.Duration, target string, args ...string) {
	w.t.Helper()
	cmd := w.command(w.t.Context(), nil, args...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		w.resumed = w.resumed || args[0] == "resume"
		w.judge(err, args)
		return
	case <-time.After(d):
	}
	if w.kill(target) {
		w.fell(blind)
	} else {
		w.resumed = w.resumed || args[0] == "resume"
	}
	if target == "agent-plugin-" && w.person {
		_ = cmd.Process.Signal(syscall.SIGKILL) // it would wait for an answer
	}
	w.judge(<-ended, args)
}

// judge checks the end of a command. It accepts any exit code, but no signal other than SIGKILL.
func (w *world) judge(err error, args []string) {
	w.t.Helper()
	exit, failed := err.(*exec.ExitError) //nolint:errorlint // of Wait, as it is
	if err != nil && !failed {
		w.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	if failed {
		if s := exit.Sys().(syscall.WaitStatus); s.Signaled() && s.Signal() != syscall.SIGKILL {
			w.t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
	}
}
