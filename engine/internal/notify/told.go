package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Moment is something that people outside should know.
type Moment struct {
	Point sdk.HookPoint
	// Seq is the number of the event.
	Seq int64
	// Question is the id of the question that the session waits for, "" at other points than waiting. Of a pause it
	// is the question that it is for: whoever is told of waiting knows.
	Question string
	Session  string
	RunID    string
	Status   state.Status
	Node     string // id, "" for the session as a whole
	Stage    string
	// Text is what was asked, or why; Next the command that goes on from here. Either may be empty.
	Text, Next string
	// Kind is that of a pause, Code that of what made a person needed.
	Kind state.PauseKind
	Code string
}

// Moments returns the notifications of an event, in order; st is the state after it. A question is sent when it is
// asked, and once more when a session is resumed before it is answered.
func Moments(p *plan.Plan, e event.Event, st state.State) []Moment {
	switch e.Type {
	case event.QuestionAsked:
		d, err := event.Decode[event.QuestionAskedData](e)
		if err != nil {
			return nil
		}
		return waiting(p, e, st, d.ID)
	case event.SessionResumed:
		return waiting(p, e, st, slices.Sorted(maps.Keys(st.Questions))...)
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

// doneText is why a run is done: of a loop what its termination said. That of a pipeline is a word for programs.
func doneText(st state.State) string {
	if st.Mode == "loop" {
		return st.Reason
	}
	return ""
}

// waiting are the moments of those of the questions that nobody has answered.
func waiting(p *plan.Plan, e event.Event, st state.State, ids ...string) []Moment {
	open := unanswered(st)
	var all []Moment
	for _, id := range ids {
		if !open[id] {
			continue
		}
		q := st.Questions[id]
		m := Moment{Point: sdk.SessionWaiting, Question: id, Text: q.Text, Code: q.Code, Next: "agent-pipelines approve " + st.Session}
		if len(open) > 1 { // which of them is meant has to be said
			m.Next += " " + id
		}
		m.Node, m.Stage = nodeAt(p, q.Key)
		all = append(all, moment(p, e, st, m))
	}
	return all
}

func paused(p *plan.Plan, e event.Event, st state.State) []Moment {
	d, err := event.Decode[event.SessionPausedData](e)
	if err != nil {
		return nil
	}
	return []Moment{moment(p, e, st, Moment{
		Point: sdk.SessionPaused, Question: d.Question, Kind: st.PauseKind, Code: st.PauseCode, Text: st.PauseReason, Next: "agent-pipelines resume " + st.Session,
	})}
}

// failed is that the session failed with the node, if it did.
func failed(p *plan.Plan, e event.Event, st state.State) []Moment {
	if st.Status != state.Failed {
		return nil
	}
	m := Moment{Point: sdk.SessionFailed, Text: st.Reason, Next: "agent-pipelines resume " + st.Session}
	if st.Failure != nil {
		m.Text, m.Next = cmp.Or(st.Failure.Message, m.Text), cmp.Or(st.Failure.ResumeCommand, m.Next)
	}
	return []Moment{moment(p, e, st, m)}
}

// moment fills in what is the same for all points. Where nothing names a node, it is the one that the run is at.
func moment(p *plan.Plan, e event.Event, st state.State, m Moment) Moment {
	m.Seq, m.Session, m.RunID, m.Status = e.Seq, st.Session, st.RunID, st.Status
	if n := p.Find(st.At); n != nil && m.Node == "" && m.Point != sdk.SessionWaiting {
		m.Node, m.Stage = n.ID, n.Ref
	}
	return m
}

// nodeAt is the node that a key is about.
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

// unanswered are the questions that wait for a person, by id.
func unanswered(st state.State) map[string]bool {
	open := map[string]bool{}
	for id, q := range st.Questions {
		if q.Answer == nil {
			open[id] = true
		}
	}
	return open
}

// maxText is how much of a text a message repeats, in bytes.
const maxText = 500

// Line is the moment as one line for people. again says that they were told before.
func (m Moment) Line(again bool) string {
	line := fmt.Sprintf("session '%s' %s", m.Session, m.says(again))
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

func (m Moment) says(again bool) string {
	switch {
	case m.Point == sdk.SessionWaiting && again:
		return "still waits for you"
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
