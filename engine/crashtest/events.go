package crashtest

import (
	"bufio"
	"fmt"
	"os"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// journalFile is the name of a session's journal.
const journalFile = "events.jsonl"

// treatment is how events of a type are compared.
type treatment int

const (
	// lasting events are there once, in their order, however often a run was cut off. So are those of types that the
	// table does not have.
	lasting treatment = iota
	// replaceable ones are there once more if the attempt that they are of is made again after a crash: then the later
	// one counts.
	replaceable
	// passing ones tell of the way: of kernels, attempts, timers and recoveries.
	passing
)

// treatments are the types of events that are not lasting. All that only inform are passing, too: they ride with the
// next commit, and a crash may lose them.
var treatments = map[event.Type]treatment{
	event.Error:      replaceable, // an attempt is made again from the first one on
	event.Retry:      replaceable,
	event.ToolCall:   replaceable, // but see superseded
	event.ToolResult: replaceable,

	event.KernelStart:      passing, // starts of kernels
	event.SessionImported:  passing,
	event.SessionPaused:    passing,
	event.SessionResumed:   passing,
	event.Control:          passing, // how a word reached the kernel; what it changed is compared
	event.TimerSet:         passing,
	event.TimerFired:       passing,
	event.IterationStart:   passing, // of each attempt from a first one on; the iteration's end is compared
	event.AttemptStart:     passing,
	event.StrategyQuestion: passing, // the same of a strategy's question
	event.HookStart:        passing, // and of a hook
	event.HookSkipped:      passing, // its condition is asked again
	event.Checkpoint:       passing, // private to an attempt
	event.WorkerComplete:   passing, // for readers of the Bash engine's journals
}

// dropped are members of events' data that are no part of the outcome. References to files are held against the files.
var dropped = map[event.Type][]string{
	event.SessionStart:     {"plan_sha256"}, // of a file with absolute paths; the file is compared
	event.QuestionAsked:    {"digest", "preview", "due"},
	event.QuestionAnswered: {"digest", "control"},
}

// everywhere are such members of all types.
var everywhere = []string{"duration_ms"}

// entry is an event that is compared.
type entry struct {
	name  string // type and place, for people and to find its counterpart
	value any
}

// readJournal reads the last run of a journal, as it counts: without torn lines, and without those that a kernel wrote
// after another one had taken the session from it.
func readJournal(file string) ([]event.Event, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	var run []event.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*event.MaxLine)
	for epoch := 0; lines.Scan(); {
		e, err := event.ParseLine(lines.Bytes())
		if err != nil || e.Epoch != 0 && e.Epoch < epoch {
			continue
		}
		epoch = max(epoch, e.Epoch)
		if e.Type == event.SessionStart {
			run = nil
		}
		run = append(run, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read journal %s: %w", file, err)
	}
	return run, nil
}

// lanes are the events that are compared, of each branch and step by themselves: what these do has an order, how it is
// mixed with what others do at the same time has not.
func (r reader) lanes(journal []event.Event) map[string][]entry {
	lanes := map[string][]entry{}
	for i, e := range journal {
		how := treatments[e.Type]
		if how == passing || e.Informative() || r.recovery[questionID(e)] || superseded(journal, i) {
			continue
		}
		lanes[laneOf(e)] = append(lanes[laneOf(e)], r.entry(e))
	}
	return lanes
}

func laneOf(e event.Event) string {
	lane := ""
	if e.Cursor != nil {
		lane = e.Cursor.Provider + "/" + e.Cursor.Step
	}
	if e.Type == event.ToolCall || e.Type == event.ToolResult { // a call of an attempt that was cut off stays where it was
		lane += " calls " + string(e.Key)
	}
	return lane
}

func (r reader) entry(e event.Event) entry {
	value := map[string]any{"key": string(e.Key)}
	if data, ok := decodeJSON(e.Data); ok {
		value["data"] = r.clean(data, slices.Concat(everywhere, dropped[e.Type]))
	}
	if c := e.Cursor; c != nil {
		value["cursor"] = fmt.Sprintf("%+v", *c)
	}
	return entry{name: nameOf(e), value: value}
}

// nameOf says what an event is for people: the type, and the place where it has one.
func nameOf(e event.Event) string {
	name := string(e.Type)
	switch {
	case e.Key != "":
		name += " " + string(e.Key)
	case e.Cursor != nil:
		name += " of node " + e.Cursor.NodePath
		if e.Cursor.Provider != "" {
			name += ", provider " + e.Cursor.Provider
		}
		if e.Cursor.Step != "" {
			name += ", step " + e.Cursor.Step
		}
	}
	if id := callID(e); id != "" {
		name += " " + id
	}
	return name
}

// superseded reports whether the event is of an attempt that was made again by a later kernel, whose event of the same
// name counts. The result of a gated call is not made again: it is superseded only if its attempt had ended as an error,
// after which the next one begins from the start. So a call that had its effect twice shows as two results.
func superseded(journal []event.Event, i int) bool {
	e := journal[i]
	if e.Type == event.QuestionAnswered {
		return askedAgain(journal[i+1:], e)
	}
	asked := e.Type == event.QuestionAsked && askedAbout(e) == event.QuestionTool
	if treatments[e.Type] == lasting && !asked {
		return false
	}
	ended := e.Type != event.ToolResult || observed(e)
	for _, later := range journal[i+1:] {
		ended = ended || later.Type == event.Error && later.Key == e.Key
		if ended && later.Epoch > e.Epoch && later.Type == e.Type && nameOf(later) == nameOf(e) {
			return true
		}
	}
	return false
}

// askedAgain reports whether a question about a call is asked once more, by a later kernel: its answer had not reached the
// attempt that was cut off.
func askedAgain(journal []event.Event, answer event.Event) bool {
	return slices.ContainsFunc(journal, func(e event.Event) bool {
		return e.Epoch > answer.Epoch && askedAbout(e) == event.QuestionTool && questionID(e) == questionID(answer)
	})
}

func callID(e event.Event) string {
	if e.Type != event.ToolCall && e.Type != event.ToolResult {
		return ""
	}
	d, err := event.Decode[event.ToolResultData](e)
	if err != nil {
		return ""
	}
	return d.CallID
}

func observed(e event.Event) bool {
	d, err := event.Decode[event.ToolResultData](e)
	return err == nil && d.Observed
}

// askedAbout is the kind of a question that is asked, "" for other events.
func askedAbout(e event.Event) string {
	if e.Type != event.QuestionAsked {
		return ""
	}
	d, err := event.Decode[event.QuestionAskedData](e)
	if err != nil {
		return ""
	}
	return d.Kind
}

// questionID is the id of the question that the event is about, "" for none.
func questionID(e event.Event) string {
	if e.Type != event.QuestionAsked && e.Type != event.QuestionAnswered {
		return ""
	}
	d, err := event.Decode[event.QuestionAnsweredData](e) // both have the member
	if err != nil {
		return ""
	}
	return d.ID
}

// recoveryQuestion is the id of the question that the event asks, if that is whether an attempt that was cut off may be
// made again (recovery: ask, or a call that must not be made twice); "" otherwise.
func recoveryQuestion(e event.Event) string {
	if askedAbout(e) == event.QuestionEscalation && e.Key.Kind() == event.KeyAttempt {
		return questionID(e)
	}
	return ""
}
