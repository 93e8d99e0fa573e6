package crashtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// session is a session written by a test, with its own run id, time and root.
type session struct {
	t     *testing.T
	root  string
	dir   string
	run   string
	at    time.Time
	epoch int
	lines []byte
	seq   int64
}

// newSession returns a session that has only begun. No two sessions share an id, time or directory.
func newSession(t *testing.T) *session {
	t.Helper()
	root := t.TempDir()
	at := time.Now().Add(time.Duration(len(root)) * time.Hour)
	s := &session{t: t, root: root, dir: filepath.Join(root, ".claude/pipeline-runs/s"), run: "PL-20260102030405-" + event.Digest(root)[:8], at: at, epoch: 1}
	s.file("state.json", fmt.Sprintf(`{"session": "s", "status": "completed", "started_at": %q, "event_seq": %d, "run_id": %q}`, at.Format(time.RFC3339), at.Unix(), s.run))
	s.append(event.SessionStart, event.Location{}, "", event.SessionStartData{Mode: "loop", PlanSHA256: s.run, PipelineFile: root + "/p.yaml"})
	s.append(event.KernelStart, event.Location{}, "", event.KernelStartData{PID: at.Nanosecond()})
	return s
}

// file writes a file of the session.
func (s *session) file(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	testkit.OK(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.OK(s.t, os.WriteFile(path, []byte(text), 0o600))
}

// append adds an event to the journal.
func (s *session) append(typ event.Type, at event.Location, key event.Key, data any) {
	s.t.Helper()
	s.seq++
	var cursor *event.Cursor
	if at.Node != "" {
		cursor = at.Cursor()
	}
	e := event.New(typ, cursor, key, data)
	e.Session, e.Seq, e.RunID, e.Epoch = "s", s.seq, s.run, s.epoch
	e.Time = s.at.Add(time.Duration(s.seq) * time.Second)
	line := testkit.Must(e.AppendLine(nil))
	s.lines = append(s.lines, line...)
}

// restart begins the next epoch, as after a kill.
func (s *session) restart() {
	s.epoch++
	s.append(event.KernelStart, event.Location{}, "", event.KernelStartData{PID: s.epoch})
	s.append(event.SessionResumed, event.Location{}, "", event.SessionResumedData{})
}

func (s *session) read() crashtest.Outcome {
	s.t.Helper()
	s.file("events.jsonl", string(s.lines))
	return testkit.Must(crashtest.Read(s.dir, s.root))
}

// ref returns a reference to a file of the session.
func (s *session) ref(name string) event.Ref {
	s.t.Helper()
	b := testkit.Must(os.ReadFile(filepath.Join(s.dir, name)))
	sum := sha256.Sum256(b)
	return event.Ref{Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b))}
}

var firstIteration = event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}

// iteration appends a whole iteration with output and artifact.
func (s *session) iteration() {
	s.begin()
	s.end()
}

func (s *session) begin() {
	s.append(event.IterationStart, firstIteration, firstIteration.Key(event.KeyAttempt, 1), event.IterationStartData{Stage: "work"})
}

func (s *session) end() {
	s.t.Helper()
	s.file("stage-00-work/iterations/001/output.md", "written in "+s.root+"\n")
	s.file("artifacts/00-work.v1.yaml", fmt.Sprintf("_artifact_meta: {created_at: %q}\ngoal: a bridge\n_metadata: {pipeline_id: %s}\n", s.at, s.run))
	output, artifact := s.ref("stage-00-work/iterations/001/output.md"), s.ref("artifacts/00-work.v1.yaml")
	s.append(event.IterationComplete, firstIteration, firstIteration.Key(event.KeyAttempt, 1), event.IterationCompleteData{
		Summary: "worked", Output: &output, DurationMS: int64(s.at.Nanosecond()), Settlement: event.Settlement{Artifact: &artifact},
	})
	s.append(event.NodeComplete, firstIteration, "", event.NodeCompleteData{Name: "work", Status: "complete", Outcome: "success", To: "done"})
}

// undisturbed returns a session without crashes.
func undisturbed(t *testing.T) *session {
	t.Helper()
	s := newSession(t)
	s.iteration()
	return s
}

func texts(list []crashtest.Difference) []string {
	var all []string
	for _, d := range list {
		all = append(all, d.String())
	}
	return all
}

// Variations between runs and traces of crashes are not differences: ids, times, directories, kernels, interrupted
// attempts and questions about these.
func TestEqual(t *testing.T) {
	call := event.ToolCallData{CallID: "call-1", Tool: "write", Effect: "idempotent"}
	result := event.ToolResultData{CallID: "call-1", Status: "success"}
	failed := event.FailureData{ErrorType: "provider_timeout", Message: "slow"}
	key := firstIteration.Key(event.KeyAttempt, 1)
	tests := map[string]struct{ want, got func(s *session) }{
		"two runs": {(*session).iteration, (*session).iteration},
		"an attempt was cut off": {(*session).iteration, func(s *session) {
			s.begin()
			s.file("stage-00-work/iterations/001/attempts.jsonl", `{"attempt": 1}`)
			s.file("stage-00-work/iterations/001/attempts/01/stream.jsonl", "half")
			s.restart()
			s.iteration()
		}},
		"its calls too": {
			func(s *session) {
				s.begin()
				s.append(event.ToolCall, firstIteration, key, call)
				s.append(event.ToolResult, firstIteration, key, result)
				s.end()
			},
			func(s *session) {
				s.begin()
				s.append(event.ToolCall, firstIteration, key, call)
				s.restart()
				s.begin()
				s.append(event.ToolCall, firstIteration, key, call)
				s.append(event.ToolResult, firstIteration, key, result)
				s.end()
			},
		},
		"a failed one was made again from the start": {
			func(s *session) {
				s.begin()
				s.append(event.ToolResult, firstIteration, key, result)
				s.append(event.Error, firstIteration, key, failed)
				s.iteration()
			},
			func(s *session) {
				s.begin()
				s.append(event.ToolResult, firstIteration, key, result)
				s.append(event.Error, firstIteration, key, failed)
				s.restart()
				s.begin()
				s.append(event.ToolResult, firstIteration, key, result)
				s.append(event.Error, firstIteration, key, failed)
				s.iteration()
			},
		},
		"the user was asked about the retry": {(*session).iteration, func(s *session) {
			s.begin()
			s.restart()
			s.addEscalation("", key)
			s.file("questions/q-1.json", `{"id": "q-1"}`)
			s.append(event.QuestionAnswered, firstIteration, key, event.QuestionAnsweredData{ID: "q-1", Answer: event.AnswerApprove})
			s.iteration()
		}},
		"a torn line, and lines of a fenced kernel": {(*session).iteration, func(s *session) {
			s.begin()
			s.lines = append(s.lines, `{"ts":"2026-01-`+"\n"...)
			s.restart()
			s.epoch = 1
			s.end()
			s.epoch = 2
			s.iteration()
		}},
		"the lines of two providers are mixed otherwise": {
			func(s *session) { s.branches("left", "left", "right", "right") },
			func(s *session) { s.branches("right", "left", "right", "left") },
		},
		"an agent said something about its progress again": {
			func(s *session) { s.file("stage-00-work/progress.md", "# Progress\nbuilt\nmore\n") },
			func(s *session) { s.file("stage-00-work/progress.md", "# Progress\nbuilt\nbuilt\nmore\n") },
		},
		"an escalation has its name by the time": {
			func(s *session) { s.addEscalations(0) },
			func(s *session) { s.addEscalations(time.Hour) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want, got := newSession(t), newSession(t)
			tt.want(want)
			tt.got(got)
			testkit.Equal(t, []string(nil), texts(want.read().Diff(got.read())))
		})
	}
}

// The session's name makes no difference where it names the session itself; elsewhere it does.
func TestEqualExceptName(t *testing.T) {
	named := func(name string) crashtest.Outcome {
		s := newSession(t)
		dir := filepath.Join(filepath.Dir(s.dir), name)
		testkit.OK(t, os.RemoveAll(s.dir))
		s.dir = dir
		s.file("state.json", fmt.Sprintf(`{"session": %q, "status": "completed", "word": "s"}`, name))
		s.file("plan.json", fmt.Sprintf(`{"session": {"name": %q, "created_at": "now"}, "pipeline": {"name": "s"}}`, name))
		s.file("progress-"+name+".md", "# Progress: "+name+"\n\n# Progress: "+name+" (claude)\nbuilt\n")
		s.file("stage-00-s/iterations/001/context.json", fmt.Sprintf(`{"session": %q, "paths": {"session_dir": %q, "result": %q}}`, name, dir, dir+"/stage-00-s/result.json"))
		s.file("stage-00-s/iterations/001/output.md", fmt.Sprintf("see `.claude/pipeline-runs/%s` and .claude/pipeline-runs/%[1]s/progress-%[1]s.md\n", name))
		s.iteration()
		return s.read()
	}
	testkit.Equal(t, []string(nil), texts(named("s").Diff(named("s-2.1"))))
}

// branches appends iterations of providers, in the given order.
func (s *session) branches(order ...string) {
	n := map[string]int{}
	for _, branch := range order {
		n[branch]++
		at := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: branch, Iteration: n[branch]}
		s.append(event.IterationComplete, at, at.Key(event.KeyAttempt, 1), event.IterationCompleteData{Summary: branch})
	}
}

// addEscalation appends a question with its escalation file, whose name it returns.
func (s *session) addEscalation(before string, key event.Key) (name string) {
	name = state.EscalationName(before, s.at.Add(time.Duration(s.seq+1)*time.Second))
	s.append(event.QuestionAsked, firstIteration, key, event.QuestionAskedData{ID: "q-1", Kind: event.QuestionEscalation, Text: "see " + name})
	s.file("escalations/"+name+".yaml", "question: q-1\nescalation_id: "+name+"\n")
	return name
}

// addEscalations appends two escalations with equal times, after a delay.
func (s *session) addEscalations(later time.Duration) {
	s.at = s.at.Add(later)
	first := s.addEscalation("", firstIteration.Key(event.KeyEscalate, 1))
	s.at = s.at.Add(-time.Second)
	s.addEscalation(first, firstIteration.Key(event.KeyEscalate, 2))
}

// Every kind of damage shows as one line with place and values.
func TestDiff(t *testing.T) {
	key := firstIteration.Key(event.KeyAttempt, 1)
	tests := map[string]struct {
		harm func(s *session)
		want string
	}{
		"an event is missing": {
			func(s *session) { s.removeLines(`"type":"node_complete"`) }, `events: node_complete of node 0: missing: {`,
		},
		"an event is there twice": {
			func(s *session) { s.restart(); s.end() }, `events: iteration_complete attempt:0/v1/r1/-/-/i1#1: unexpected: {`,
		},
		"an event of no place": {
			func(s *session) { s.removeLines(`"type":"session_start"`) }, `events: session_start: missing: {`,
		},
		"two events have changed places": {
			func(s *session) { s.swapLastLines() }, `events: node_complete of node 0: unexpected: {`,
		},
		"an event says something else": {
			func(s *session) { s.replace(`"summary":"worked"`, `"summary":"slept"`) },
			`events: iteration_complete attempt:0/v1/r1/-/-/i1#1, data.summary: expected "worked", got "slept"`,
		},
		"an event names a file that has changed since": {
			func(s *session) {
				s.file("artifacts/00-work.v1.yaml", "_artifact_meta: {created_at: 1}\ngoal: a bridge\n_metadata: {pipeline_id: "+s.run+"}\n")
			},
			`events: iteration_complete attempt:0/v1/r1/-/-/i1#1, data.artifact.file: expected "as named", got "changed since"`,
		},
		"an output has changed": {
			func(s *session) { s.file("stage-00-work/iterations/001/output.md", "written elsewhere\n") },
			`stage-00-work/iterations/001/output.md, line 1: expected "written in <root>", got "written elsewhere"`,
		},
		"an artifact has changed": {
			func(s *session) {
				s.file("artifacts/00-work.v1.yaml", "_artifact_meta: {created_at: 1}\ngoal: a hut\n_metadata: {pipeline_id: "+s.run+"}\n")
			},
			`artifacts/00-work.v1.yaml, goal: expected "a bridge", got "a hut"`,
		},
		"an artifact is missing": {
			func(s *session) { s.remove("artifacts/00-work.v1.yaml") }, `artifacts/00-work.v1.yaml: missing: {"_artifact_meta":{},`,
		},
		"a file is left over": {
			func(s *session) { s.file("stage-00-work/.tmp-1", "half") }, `stage-00-work/.tmp-1: unexpected: "half"`,
		},
		"the state is another one": {
			func(s *session) { s.file("state.json", `{"session": "s", "status": "running"}`) }, `state.json, status: expected "completed", got "running"`,
		},
		"a member is missing": {
			func(s *session) { s.file("state.json", `{"status": "completed"}`) }, `state.json, session: missing: "<session>"`,
		},
		"the state is not JSON": {
			func(s *session) { s.file("state.json", `{"session`) }, `state.json: expected {"session":"<session>","status":"completed"}, got "{\"session"`,
		},
		"a call that may not be repeated has its result twice": {
			func(s *session) {
				s.append(event.ToolResult, firstIteration, key, event.ToolResultData{CallID: "call-1", Status: "success"})
				s.restart()
				s.append(event.ToolResult, firstIteration, key, event.ToolResultData{CallID: "call-1", Status: "success"})
			},
			`events: tool_result attempt:0/v1/r1/-/-/i1#1 call-1: unexpected: {`,
		},
		"an attempt failed once more by the same kernel": {
			func(s *session) { s.append(event.Error, firstIteration, key, event.FailureData{Message: "slow"}) },
			`events: error attempt:0/v1/r1/-/-/i1#1: unexpected: {`,
		},
		"the user was asked": {
			func(s *session) {
				s.append(event.QuestionAsked, firstIteration, firstIteration.Key(event.KeyHook, 1), event.QuestionAskedData{ID: "q-2", Kind: event.QuestionConfirm})
			},
			`events: question_asked hook:0/v1/r1/-/-/i1#1: unexpected: {`,
		},
		"an agent did not say its progress": {
			func(s *session) { s.file("progress-s.md", "built\n") }, `progress-<session>.md: unexpected: "built\n"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want, got := undisturbed(t), undisturbed(t)
			tt.harm(got)
			found := texts(want.read().Diff(got.read()))
			for _, d := range found {
				if strings.HasPrefix(d, tt.want) {
					return
				}
			}
			t.Errorf("no %q in %q", tt.want, found)
		})
	}
}

// removeLines removes the journal lines that contain the text.
func (s *session) removeLines(text string) {
	s.change(func(line string) bool { return !strings.Contains(line, text) })
}

func (s *session) change(keep func(line string) bool) {
	var kept []string
	for line := range strings.Lines(string(s.lines)) {
		if keep(line) {
			kept = append(kept, line)
		}
	}
	s.lines = []byte(strings.Join(kept, ""))
}

func (s *session) replace(old, by string) {
	s.t.Helper()
	text := strings.ReplaceAll(string(s.lines), old, by)
	if text == string(s.lines) {
		s.t.Fatalf("the journal has no %s", old)
	}
	s.lines = []byte(text)
}

// swapLastLines swaps the last two lines.
func (s *session) swapLastLines() {
	lines := strings.SplitAfter(strings.TrimSuffix(string(s.lines), "\n"), "\n")
	n := len(lines)
	s.lines = []byte(strings.Join(lines[:n-2], "") + lines[n-1] + "\n" + lines[n-2])
}

func (s *session) remove(name string) {
	s.t.Helper()
	testkit.OK(s.t, os.Remove(filepath.Join(s.dir, name)))
}

// A missing or unreadable session is an error.
func TestReadFails(t *testing.T) {
	if _, err := crashtest.Read(t.TempDir(), ""); err == nil {
		t.Error("a directory without a journal is a session")
	}
	s := undisturbed(t)
	s.read()
	testkit.OK(t, os.Mkdir(filepath.Join(s.dir, "artifacts/input.yaml"), 0o755))
	if _, err := crashtest.Read(s.dir, s.root); err == nil {
		t.Error("what cannot be read is no error")
	}
}

// A value is shown as one bounded line.
func TestDifferenceIsShort(t *testing.T) {
	want, got := undisturbed(t), undisturbed(t)
	got.file("long.md", strings.Repeat("long\n", 10_000))
	for _, d := range want.read().Diff(got.read()) {
		if len(d.String()) > 300 || strings.Contains(d.String(), "\n") {
			t.Errorf("%d bytes: %s", len(d.String()), d)
		}
	}
}
