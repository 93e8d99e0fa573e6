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

	"github.com/google/go-cmp/cmp"

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

// differingPlaces returns the places of all differences, each once.
func differingPlaces(r *crashtest.Report) []string {
	var all []string
	for _, t := range r.Trials {
		for _, d := range t.Differences {
			all = append(all, d.Where)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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

// Equal numbers repeat the same trial.
func TestOnly(t *testing.T) {
	trials, _ := newTrials(t, "")
	all := testkit.Must(trials.Run(t.Context()))
	trials.Only, trials.Keep = 4, true // a trial of kind 0, at a line
	one := testkit.Must(trials.Run(t.Context()))
	if diff := cmp.Diff(all.Trials[3].Moments, one.Trials[0].Moments); diff != "" || one.Trials[0].N != 4 {
		t.Error(diff)
	}
	for _, dir := range []string{one.Dir, one.Trials[0].Dir} {
		if _, err := os.Stat(filepath.Join(dir, ".claude/pipeline-runs/s/state.json")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "big")); err == nil {
			t.Error("an excluded directory is copied")
		}
	}
}

// Every defect is found; random output is ignored.
func TestDefects(t *testing.T) {
	tests := map[string]struct {
		want  string
		equal bool
	}{
		forgets: {want: "events: iteration_complete attempt:0/v1/r1/-/-/i"},
		twice:   {want: "project: out.txt"},
		draws:   {equal: true},
	}
	for defect, tt := range tests {
		t.Run(defect, func(t *testing.T) {
			trials, _ := newTrials(t, defect)
			r := testkit.Must(trials.Run(t.Context()))
			found := slices.ContainsFunc(differingPlaces(r), func(where string) bool { return strings.HasPrefix(where, tt.want) })
			if r.Equal() != tt.equal || !tt.equal && !found {
				t.Errorf("differences in %q", differingPlaces(r))
			}
			if tt.equal && (len(r.Unstable) != 1 || r.Unstable[0].Where != "project: out.txt") {
				t.Errorf("left out: %v", r.Unstable)
			}
			if !tt.equal && r.Dir == "" {
				t.Error("the undisturbed copy is not kept")
			}
		})
	}
}

// An undisturbed run that fails is an error.
func TestUndisturbedFails(t *testing.T) {
	trials, scratch := newTrials(t, fails)
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
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Cancelling ends everything.
func TestEnded(t *testing.T) {
	trials, scratch := newTrials(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	trials.Observe = func(crashtest.Trial) { cancel(enough) }
	if _, err := trials.Run(ctx); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
