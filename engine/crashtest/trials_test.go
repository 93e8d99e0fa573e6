package crashtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// newTrials returns trials of the fake program with a defect in a new project; all copies are below scratch.
func newTrials(t *testing.T, defect string) (trials *crashtest.Trials, scratch string) {
	t.Helper()
	project, scratch := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", scratch)
	for name, text := range map[string]string{
		"main.go": "package main", ".git/HEAD": "main", "big/data": "much", ".claude/locks/s.lock": "{}", "sub/node_modules/x.js": "x",
	} {
		path := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)))
	}
	testkit.OK(t, errors.Join(os.Symlink("/", filepath.Join(project, "out")), os.Symlink("main.go", filepath.Join(project, "in"))))
	self := testkit.Must(os.Executable())
	return &crashtest.Trials{
		Command: func(ctx context.Context, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self, args...)
			cmd.Env = append(os.Environ(), fakeVariable+"="+defect, "GORACE=atexit_sleep_ms=0")
			return cmd
		},
		Start: []string{"start", "x"}, Session: "s", Project: project, LeaveOut: []string{"/big/"},
		Kills: 8, Seed: 1, Parallel: 2, Ignore: []string{"/written"},
	}, scratch
}

func TestTrials(t *testing.T) {
	trials, scratch := newTrials(t, "")
	var observed []int
	trials.Observe = func(tr crashtest.Trial) { observed = append(observed, tr.N) }
	r := testkit.Must(trials.Run(t.Context()))
	kills := 0
	for _, tr := range r.Trials {
		kills += tr.Kills
		if tr.Resumes < tr.Kills || len(tr.Positions) != tr.Kills {
			t.Errorf("%+v", tr)
		}
	}
	if !r.Equal() || kills < 6 || r.Approvals != 1 || len(r.Unstable) > 0 || len(observed) != 8 {
		t.Errorf("%+v", r)
	}
	testkit.Equal(t, []string{".git", "big", "out", "sub/node_modules"}, r.NotCopied)
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A lost iteration is found, and the copies are kept.
func TestDefects(t *testing.T) {
	trials, _ := newTrials(t, forgets)
	r := testkit.Must(trials.Run(t.Context()))
	isLost := func(d crashtest.Difference) bool {
		return strings.HasPrefix(d.Where, "events: iteration_complete attempt:0/v1/r1/-/-/i")
	}
	if r.Equal() || r.Dir == "" || !slices.ContainsFunc(r.Trials, func(tr crashtest.Trial) bool { return slices.ContainsFunc(tr.Differences, isLost) }) {
		t.Errorf("%+v", r)
	}
}

// An undisturbed run that fails is an error.
func TestUndisturbedRunFails(t *testing.T) {
	trials, _ := newTrials(t, fails)
	_, err := trials.Run(t.Context())
	var end *crashtest.EndError
	if !errors.As(err, &end) {
		t.Fatal(err)
	}
	if end.Code != 7 || end.Status != "failed" || end.Node != "plan" || !strings.Contains(end.Output, "does not work") || !strings.Contains(end.Reply, `"artifact"`) {
		t.Errorf("%+v", end)
	}
	if want := "without any kill the run ends as failed with the mock provider at plan: no such thing"; end.Error() != want {
		t.Errorf("%s", end)
	}
}
