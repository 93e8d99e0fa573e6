package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Moment is a change of a session to report to users.
type Moment struct {
	Point sdk.HookPoint
	// Seq is the number of the event that caused the moment.
	Seq int64
	// Question is the id of the question that the session waits for, or pauses for; "" at other points.
	Question string
	Session  string
	RunID    string
	Status   state.Status
	Node     string // id, "" for the session as a whole
	Stage    string
	// Text is the question or the reason, Next the command to continue with. Either may be empty.
	Text, Next string
	// Kind is the kind of a pause, Code the code of an escalation. Either may be empty.
	Kind state.PauseKind
	Code string
}

// Moments returns the notifications of an event, in order; st is the state after it. A question is sent when it is
// asked, and again at each resume of the session until it is answered.
func Moments(p *plan.Plan, e event.Event, st state.State) []Moment {
	switch e.Type {
	case event.QuestionAsked:
		d, _ := event.Decode[event.QuestionAskedData](e) // the event was applied, so it can be decoded
		return waiting(p, e, st, d.ID)
	case event.SessionResumed:
		return waiting(p, e, st, st.UnansweredQuestions()...)
	case event.SessionPaused:
		return paused(p, e, st)
	case event.NodeComplete:
		return failed(p, e, st)
	case event.SessionAborted:
		return []Moment{moment(p, e, st, Moment{Point: sdk.SessionAborted, Text: st.Reason})}
	case event.SessionComplete:
		return []Moment{moment(p, e, st, Moment{Point: sdk.SessionCompleted, Text: doneText(st)})}
	default:
		return nil
	}
}

// doneText returns the reason of a completed loop, "" for a pipeline: the reason of a pipeline is for programs.
func doneText(st state.State) string {
	if st.Mode == "loop" {
		return st.Reason
	}
	return ""
}

// waiting returns a moment for each unanswered question among ids.
func waiting(p *plan.Plan, e event.Event, st state.State, ids ...string) []Moment {
	open := st.UnansweredQuestions()
	var all []Moment
	for _, id := range ids {
		if !slices.Contains(open, id) {
			continue
		}
		q := st.Questions[id]
		m := Moment{Point: sdk.SessionWaiting, Question: id, Text: q.Text, Code: q.Code, Next: failure.Next("approve", st.Session).String()}
		if len(open) > 1 { // the question must be named
			m.Next += " " + id
		}
		m.Node, m.Stage = nodeAt(p, q.Key)
		all = append(all, moment(p, e, st, m))
	}
	return all
}

func paused(p *plan.Plan, e event.Event, st state.State) []Moment {
	d, _ := event.Decode[event.SessionPausedData](e) // the event was applied, so it can be decoded
	return []Moment{moment(p, e, st, Moment{
		Point: sdk.SessionPaused, Question: d.Question, Kind: st.PauseKind, Code: st.PauseCode, Text: st.PauseReason, Next: failure.Next("resume", st.Session).String(),
	})}
}

// failed returns one moment if the session failed when a node ended, none otherwise.
func failed(p *plan.Plan, e event.Event, st state.State) []Moment {
	if st.Status != state.Failed {
		return nil
	}
	m := Moment{Point: sdk.SessionFailed, Text: st.Reason, Next: failure.Next("resume", st.Session).String()}
	if st.Failure != nil {
		m.Text, m.Next = cmp.Or(st.Failure.Message, m.Text), cmp.Or(st.Failure.ResumeCommand, m.Next)
	}
	return []Moment{moment(p, e, st, m)}
}

// moment fills in the fields that all points share. If m has no node, moment names the node that the run is at, except
// for a question.
func moment(p *plan.Plan, e event.Event, st state.State, m Moment) Moment {
	m.Seq, m.Session, m.RunID, m.Status = e.Seq, st.Session, st.RunID, st.Status
	if n := p.Find(st.At); n != nil && m.Node == "" && m.Point != sdk.SessionWaiting {
		m.Node, m.Stage = n.ID, n.Ref
	}
	return m
}

// nodeAt returns the id and stage of the node in a key.
func nodeAt(p *plan.Plan, key event.Key) (id, stage string) {
	_, at, _, ok := key.Parse()
	if !ok {
		return "", ""
	}
	if n := p.Find(at.Node); n != nil {
		return n.ID, n.Ref
	}
	return "", ""
}

// maxText bounds a text in a message, in bytes.
const maxText = 500

// Line formats the moment as one line.
func (m Moment) Line() string {
	line := fmt.Sprintf("session '%s' %s", m.Session, m.statusText())
	if m.Code != "" {
		line += " [" + m.Code + "]"
	}
	if text := event.Truncate(strings.Join(strings.Fields(m.Text), " "), maxText); text != "" {
		line += ": " + text
	}
	if m.Next != "" {
		line += " (" + m.Next + ")"
	}
	return line
}

func (m Moment) statusText() string {
	switch {
	case m.Point == sdk.SessionWaiting:
		return "waits for you"
	case m.Point == sdk.SessionPaused && m.Kind != "":
		return "is paused (" + string(m.Kind) + ")"
	case m.Point == sdk.SessionPaused:
		return "is paused"
	case m.Point == sdk.SessionAborted:
		return "was aborted"
	default:
		return string(m.Point) // failed, completed
	}
}
