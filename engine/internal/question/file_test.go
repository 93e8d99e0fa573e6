package question_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// U128: the file has the members of seed 001. While the escalation is pending, the file says how to answer it.
func TestRender(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600))
	due := at.Add(time.Hour)
	f := question.File{
		ID: "ESC-20260301120000", RunID: "PL-1", Session: "auth", Question: "q-1", Stage: "spec", Status: question.Pending,
		Details: state.Question{
			QuestionText: state.QuestionText{
				Text: "which login?\nsay it", Options: []string{"approve", "reject"}, Shown: []event.Ref{{Path: "artifacts/00-spec.yaml", SHA256: "abc", Size: 7}},
			},
			Code: "ACODE-ORCH-004", Remedy: "decide", AskedAt: at, Due: &due,
		},
	}
	got, err := question.Render(f)
	testkit.OK(t, err)
	want := `# To answer it, write ESC-20260301120000.resolution.yaml next to this file:
#
#   abort: false      # true ends the session for good
#   context:          # a text or any other value for the next prompts
#     answer: use Google
#
# In a session with a sandbox, write it anywhere and run answer SESSION QUESTION --from-file FILE.
escalation_id: ESC-20260301120000
pipeline_id: PL-1
session: auth
question: q-1
stage: spec
issue: |-
  which login?
  say it
code: ACODE-ORCH-004
remedy: decide
context:
  files:
    - bytes: 7
      path: artifacts/00-spec.yaml
      sha256: abc
  options:
    - approve
    - reject
created_at: "2026-03-01T12:00:00Z"
due: "2026-03-01T13:00:00Z"
status: pending
`
	testkit.Equal(t, want, string(got))
	advice := strings.ReplaceAll(strings.Join(strings.Split(string(got), "\n")[2:5], "\n"), "#   ", "")
	if r, faults := question.Parse("r", []byte(advice)); len(faults) > 0 || r.Context != "answer: use Google" {
		t.Errorf("the advised text is read as %+v %v", r, faults)
	}

	f.Status, f.By, f.ResolvedAt, f.Resolution = question.Resolved, "ann", due, &question.Resolution{Context: "use Google"}
	if got, err = question.Render(f); err != nil {
		t.Fatal(err)
	}
	root, faults := yamldoc.Parse(got)
	answer := map[string]any{"abort": false, "context": "use Google", "by": "ann", "at": "2026-03-01T13:00:00Z"}
	if diff := cmp.Diff(answer, root.Get("resolution").Any()); diff != "" || len(faults) > 0 || strings.HasPrefix(string(got), "#") {
		t.Errorf("%v %s\n%s", faults, diff, got)
	}
}

// Each content of a resolution is reported once, and only for open escalations. No escalation delays another's poll.
func TestWatch(t *testing.T) {
	d := openDir(t)
	synctest.Test(t, func(t *testing.T) {
		w := question.NewWatch(d)
		var open []question.Open
		expect := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after) // by the clock of the synctest bubble
			var got []string
			w.Poll(open, func(o question.Open, f question.ResolutionFile) {
				text := o.ID + " " + o.Question + " " + f.Context
				if len(f.Faults) > 0 {
					text = o.ID + " faults"
				}
				got = append(got, text)
			})
			testkit.Equal(t, want, got)
		}
		put(t, d, "ESC-1", "context: early")
		put(t, d, "ESC-2", "context: of another")
		expect(0)

		open = []question.Open{{ID: "ESC-1", Question: "q-1", Poll: time.Minute}}
		expect(0, "ESC-1 q-1 early")
		open = append(open, question.Open{ID: "ESC-3", Poll: 5 * time.Second})
		put(t, d, "ESC-1", "context: changed")
		put(t, d, "ESC-3", "contxt: a")
		expect(0, "ESC-3 faults")
		put(t, d, "ESC-3", "context: a")
		expect(5*time.Second - 1)
		expect(1, "ESC-3  a")
		expect(5 * time.Second) // reported only once
		expect(50*time.Second, "ESC-1 q-1 changed")

		open = nil
		put(t, d, "ESC-1", "context: late")
		expect(time.Minute)
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openDir(t *testing.T) *store.Dir {
	_, d := testkit.Session(t, t.TempDir(), "auth")
	return d
}

// put writes a resolution as a user does.
func put(t *testing.T, d *store.Dir, id, text string) {
	t.Helper()
	name := d.Abs(store.ResolutionFile(id))
	testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testkit.OK(t, os.WriteFile(name, []byte(text), 0o644))
}
