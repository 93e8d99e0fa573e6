package notify_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

var two = &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "draft", Ref: "writer"}, {Path: "1", ID: "refine"}}}

// endKey returns the key of a hook at the end of a node.
func endKey(path string) event.Key {
	return event.Location{Node: path, Visit: 1, Run: 1}.Key(event.KeyHook, 1)
}

func question(path, text string) state.Question {
	return state.Question{Kind: event.QuestionConfirm, Key: endKey(path), QuestionText: state.QuestionText{Text: text}}
}

func answered(q state.Question) state.Question {
	q.Answer = &state.Answer{Option: event.AnswerApprove}
	return q
}

// Each event has its moments, as lines with the reason and the command to continue with.
func TestMomentsOfEvents(t *testing.T) {
	ask := func(id string) event.Event {
		return event.New(event.QuestionAsked, nil, endKey("0"), event.QuestionAskedData{ID: id})
	}
	for _, tt := range []struct {
		name  string
		event event.Event
		state state.State
		want  []string
	}{
		{
			"a question", ask("q-1"),
			state.State{Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "1"}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": question("0", "Research complete?")}}},
			[]string{"waiting running draft/writer q-1: session 'auth' waits for you: Research complete? (agent-pipelines approve auth)"},
		},
		{
			"a second question", ask("q-2"),
			state.State{Lifecycle: state.Lifecycle{Status: state.Running}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": question("0", "a?"), "q-2": question("1", "b\n b?")}}},
			[]string{"waiting running refine/ q-2: session 'auth' waits for you: b b? (agent-pipelines approve auth q-2)"},
		},
		{
			"an escalation", ask("q-1"),
			state.State{Lifecycle: state.Lifecycle{Status: state.Running}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": {Key: endKey("0"), QuestionText: state.QuestionText{Text: "3 returns"}, Code: "ACODE-ORCH-003"}}}},
			[]string{"waiting running draft/writer q-1: session 'auth' waits for you [ACODE-ORCH-003]: 3 returns (agent-pipelines approve auth)"},
		},
		{
			"paused for an escalation", event.New(event.SessionPaused, nil, "", event.SessionPausedData{Kind: "escalation", Question: "q-1"}),
			state.State{Lifecycle: state.Lifecycle{Status: state.Paused, PauseKind: state.PauseEscalation, PauseCode: "ACODE-ORCH-004", PauseReason: "help"}, Position: state.Position{At: "0"}},
			[]string{"paused paused draft/writer q-1: session 'auth' is paused (escalation) [ACODE-ORCH-004]: help (agent-pipelines resume auth)"},
		},
		{
			"a question of the session", ask("q-1"),
			state.State{Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0"}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": {QuestionText: state.QuestionText{Text: "Continue?"}}}}},
			[]string{"waiting running / q-1: session 'auth' waits for you: Continue? (agent-pipelines approve auth)"},
		},
		{
			"resumed, one answered and one not", event.New(event.SessionResumed, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Running}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": answered(question("0", "a?")), "q-2": question("1", "b?")}}},
			[]string{"waiting running refine/ q-2: session 'auth' waits for you: b? (agent-pipelines approve auth)"},
		},
		{"resumed, nothing is asked", event.New(event.SessionResumed, nil, "", nil), state.State{Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0"}}, nil},
		{
			"paused for a question", event.New(event.SessionPaused, nil, "", event.SessionPausedData{Kind: "approval", Reason: "a?", Question: "q-1"}),
			state.State{Lifecycle: state.Lifecycle{Status: state.Paused, PauseKind: state.PauseApproval, PauseReason: "a?"}, Position: state.Position{At: "0"}},
			[]string{"paused paused draft/writer q-1: session 'auth' is paused (approval): a? (agent-pipelines resume auth)"},
		},
		{
			"paused by a signal", event.New(event.SessionPaused, nil, "", event.SessionPausedData{Kind: "signal"}),
			state.State{Lifecycle: state.Lifecycle{Status: state.Paused, PauseKind: state.PauseSignal}, Position: state.Position{At: "1"}},
			[]string{"paused paused refine/ : session 'auth' is paused (signal) (agent-pipelines resume auth)"},
		},
		{
			"failed", event.New(event.NodeComplete, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Failed, Reason: "error"}, Position: state.Position{At: "0"}, Failure: &event.FailureData{Message: "no answer", ResumeCommand: "agent-pipelines resume auth --force"}},
			[]string{"failed failed draft/writer : session 'auth' failed: no answer (agent-pipelines resume auth --force)"},
		},
		{
			"failed without a record", event.New(event.NodeComplete, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Failed, Reason: "error"}, Position: state.Position{At: "0"}},
			[]string{"failed failed draft/writer : session 'auth' failed: error (agent-pipelines resume auth)"},
		},
		{"a node that is done", event.New(event.NodeComplete, nil, "", nil), state.State{Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "1"}}, nil},
		{
			"aborted", event.New(event.SessionAborted, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Aborted, Reason: "User requested"}, Position: state.Position{At: "1"}},
			[]string{"aborted aborted refine/ : session 'auth' was aborted: User requested"},
		},
		{
			"completed", event.New(event.SessionComplete, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Completed, Reason: "all_loops_complete"}},
			[]string{"completed completed / : session 'auth' completed"},
		},
		{
			"a loop completed", event.New(event.SessionComplete, nil, "", nil),
			state.State{Lifecycle: state.Lifecycle{Status: state.Completed, Reason: "nothing is left"}, Identity: state.Identity{Mode: "loop"}},
			[]string{"completed completed / : session 'auth' completed: nothing is left"},
		},
		{"an iteration", event.New(event.IterationComplete, nil, "", nil), state.State{Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.event.Seq, tt.state.Session, tt.state.RunID = 7, "auth", "PL-1"
			var got []string
			for _, m := range notify.Moments(two, tt.event, tt.state) {
				m.Next = failure.Render(m.Next, "agent-pipelines")
				got = append(got, strings.Join([]string{string(m.Point), string(m.Status), m.Node + "/" + m.Stage, m.Question + ": " + m.Line()}, " "))
				if m.Seq != 7 || m.Session != "auth" || m.RunID != "PL-1" {
					t.Errorf("the moment is of %s, %s, event %d", m.Session, m.RunID, m.Seq)
				}
			}
			testkit.Equal(t, tt.want, got)
		})
	}
}

// A line is one line of bounded length.
func TestLine(t *testing.T) {
	m := notify.Moment{Point: sdk.SessionWaiting, Session: "s", Text: strings.Repeat("long\ntext ", 500)}
	line := m.Line()
	if !strings.HasPrefix(line, "session 's' waits for you: long text") || strings.Contains(line, "\n") || len(line) > 600 {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}
