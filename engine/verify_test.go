package engine_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// headFile returns the file with the head of a session's journal.
func headFile(t *testing.T, dir string) string {
	t.Helper()
	project := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	found := testkit.Must(filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "agent-pipelines/heads", project+"-*", "demo.json")))
	if len(found) != 1 {
		t.Fatalf("%d heads: %v", len(found), found)
	}
	return found[0]
}

// U326: the head decides whether a session continues. A missing head does not prevent it.
func TestHeadOfSession(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	edit := func(t *testing.T, head string) {
		rewriteFile(t, head, func(text []byte) []byte { return bytes.Replace(text, []byte(`"rest":true`), []byte(`"rest":false`), 1) })
	}
	for _, tt := range []struct {
		name    string
		damage  func(t *testing.T, head, dir string)
		kind    string // of the break, "" for none
		resumes bool
	}{
		{"untouched", func(*testing.T, string, string) {}, "", true},
		{"missing", func(t *testing.T, head, dir string) {
			testkit.OK(t, os.Remove(head))
			testkit.OK(t, os.Remove(filepath.Join(dir, "head.json")))
		}, "head_missing", true},
		{"missing, with its copy", func(t *testing.T, head, _ string) { testkit.OK(t, os.Remove(head)) }, "", true},
		{"edited", func(t *testing.T, head, _ string) { edit(t, head) }, "head_invalid", false},
		{"no JSON", func(t *testing.T, head, _ string) { testkit.OK(t, os.WriteFile(head, []byte("{"), 0o600)) }, "head_invalid", false},
		{"of another key", func(t *testing.T, _, _ string) {
			testkit.OK(t, os.Remove(filepath.Join(engine.UserKeys().Dir(), "private.pem")))
			testkit.Must(engine.UserKeys().PublicKey())
		}, "head_invalid", false},
		{"of another project", func(t *testing.T, head, _ string) {
			_, other := pausedSession(t)
			rewriteFile(t, head, func([]byte) []byte { return testkit.Must(os.ReadFile(headFile(t, other))) })
		}, "head_invalid", false},
		{"an answer that another program appended", func(t *testing.T, _, dir string) {
			rewriteFile(t, filepath.Join(dir, "events.jsonl"), func(text []byte) []byte {
				lines := splitLines(text)
				return append(append(text, bytes.Replace(lines[len(lines)-1], []byte(`"prev"`), []byte(`"next"`), 1)...), '\n')
			})
		}, "added", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, dir := pausedSession(t)
			tt.damage(t, headFile(t, dir), dir)
			v := testkit.Must(e.Verify(t.Context(), "demo", false))
			if v.Intact != (tt.kind == "" || tt.kind == "head_missing") || tt.kind != "" && (v.BreakCount != 1 || v.Breaks[0].Kind != tt.kind) {
				t.Fatalf("%+v", v)
			}
			if !tt.resumes {
				for name, err := range map[string]error{
					"resume":    testkit.Error(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})),
					"preflight": testkit.Error(e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"})),
					"feedback":  e.Feedback(t.Context(), "demo", "mind the tests", "ann"),
				} {
					if failure.KindOf(err) != failure.Tampered {
						t.Errorf("%s: %v", name, err)
					}
				}
				if v = testkit.Must(e.Verify(t.Context(), "demo", true)); !v.Accepted {
					t.Errorf("%+v", v)
				}
			}
			testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
			if v = testkit.Must(e.Verify(t.Context(), "demo", true)); !v.Intact || v.Accepted || !v.HeadMatches {
				t.Errorf("%+v", v)
			}
			head := headFile(t, dir)
			testkit.OK(t, e.RemoveSession(t.Context(), "demo"))
			if _, err := os.Stat(head); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the head is left: %v", err)
			}
		})
	}
}

// A repair begins a new chain, and a new run in the same directory accepts the old one.
func TestRepairBeginsAChain(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	e, dir := pausedSession(t)
	rewriteFile(t, filepath.Join(dir, "events.jsonl"), func(text []byte) []byte { return append([]byte("no event\n"), text...) })
	r := testkit.Must(e.Repair(t.Context(), engine.RepairOptions{Session: "demo", At: "plan"}))
	v := testkit.Must(e.Verify(t.Context(), "demo", false))
	if r.OldJournal == "" || !v.Intact || v.Chained != 1 || v.FirstChained < 2 || !v.HeadMatches {
		t.Fatalf("%+v, %+v", r, v)
	}
	rewriteFile(t, filepath.Join(dir, "events.jsonl"), func(text []byte) []byte { return bytes.Replace(text, []byte("repaired"), []byte("Repaired"), 1) })
	if v = testkit.Must(e.Verify(t.Context(), "demo", false)); v.Intact {
		t.Errorf("%+v", v)
	}
	testkit.OK(t, completed(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true})))
	if v = testkit.Must(e.Verify(t.Context(), "demo", false)); !v.Intact {
		t.Errorf("%+v", v)
	}
}

// Only the user who holds the session can accept its journal.
func TestAcceptLocked(t *testing.T) {
	root := project(t, twoStages)
	slow, working, let := blockingAgent()
	e, other := newEngine(t, root, slow), newEngine(t, root, agent{})
	end := begin(t, e)
	<-working
	v := testkit.Must(other.Verify(t.Context(), "demo", false)) // while it runs
	if !v.Intact || v.Chained == 0 {
		t.Errorf("%+v", v)
	}
	wantError(t, testkit.Error(other.Verify(t.Context(), "demo", true)), engine.ErrLocked)
	wantError(t, testkit.Error(other.Verify(t.Context(), "none", false)), engine.ErrNoSession)
	wantError(t, testkit.Error(other.Verify(t.Context(), "no/name", true)), engine.ErrSessionName)
	close(let)
	end()
}
