package crashtest

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// journalFile is the name of a session's journal.
const journalFile = "events.jsonl"

// treatment says how events of a type are compared.
type treatment int

const (
	// stable events occur once and in order, however often a run was killed. This treatment is the default.
	stable treatment = iota
	// repeatable events recur if their attempt is repeated after a crash; the last event counts.
	repeatable
	// transient events record kernels, attempts, timers and recoveries; they are not compared.
	transient
)

// treatments lists the event types that are not stable. Informational events are transient, too: they are
// written with the next commit, and a crash may lose them.
var treatments = map[event.Type]treatment{
	event.Error:      repeatable, // a resume repeats the attempts from the first on
	event.Retry:      repeatable,
	event.ToolCall:   repeatable, // see isSuperseded
	event.ToolResult: repeatable,

	event.KernelStart:      transient, // one for each kernel
	event.SessionImported:  transient,
	event.SessionPaused:    transient,
	event.SessionResumed:   transient,
	event.Control:          transient, // only its effects are compared
	event.TimerSet:         transient,
	event.TimerFired:       transient,
	event.IterationStart:   transient, // repeated per attempt; the iteration's end is compared
	event.AttemptStart:     transient,
	event.StrategyQuestion: transient, // repeated per attempt
	event.HookStart:        transient, // repeated per attempt
	event.HookSkipped:      transient, // the condition is evaluated again
	event.Checkpoint:       transient, // private to an attempt
	event.WorkerComplete:   transient, // for readers of Bash journals
}

// droppedMembers lists members of events' data that are not part of the outcome. File references are compared
// with the files.
var droppedMembers = map[event.Type][]string{
	event.SessionStart:     {"plan_sha256"}, // digest of a file with absolute paths; the file is compared
	event.QuestionAsked:    {"digest", "preview", "due"},
	event.QuestionAnswered: {"digest", "control"},
}

// droppedEverywhere lists members that are dropped from the data of all events.
var droppedEverywhere = []string{"duration_ms"}

// entry is an event to compare.
type entry struct {
	name  string // type and location, to pair and display it
	value any
}

// readJournal reads a journal, without torn lines and without events of fenced kernels.
func readJournal(file string) ([]event.Event, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var events []event.Event
	epoch := 0
	for line := range bytes.Lines(text) {
		e, err := event.ParseLine(line)
		if err != nil || e.Epoch != 0 && e.Epoch < epoch {
			continue
		}
		epoch = max(epoch, e.Epoch)
		events = append(events, e)
	}
	return events, nil
}

// lastRun returns the events of a journal's last run.
func lastRun(journal []event.Event) []event.Event {
	for i, e := range slices.Backward(journal) {
		if e.Type == event.SessionStart {
			return journal[i:]
		}
	}
	return journal
}

// sequences returns the events to compare, by branch and step. The order of events is defined only within a branch and
// step.
func (r reader) sequences(journal []event.Event) map[string][]entry {
	sequences := map[string][]entry{}
	for i, e := range journal {
		t := treatments[e.Type]
		if t == transient || e.Informative() || r.recovery[questionID(e)] || isSuperseded(journal, i) {
			continue
		}
		sequences[sequenceName(e)] = append(sequences[sequenceName(e)], r.entry(e))
	}
	return sequences
}

func sequenceName(e event.Event) string {
	name := ""
	if e.Cursor != nil {
		name = e.Cursor.Provider + "/" + e.Cursor.Step
	}
	if e.Type == event.ToolCall || e.Type == event.ToolResult { // calls of an interrupted attempt keep their position
		name += " calls " + string(e.Key)
	}
	return name
}

func (r reader) entry(e event.Event) entry {
	value := map[string]any{"key": string(e.Key)}
	if data, ok := decodeJSON(e.Data); ok {
		value["data"] = r.normalize(data, slices.Concat(droppedEverywhere, droppedMembers[e.Type]))
	}
	if c := e.Cursor; c != nil {
		value["cursor"] = fmt.Sprintf("%+v", *c)
	}
	return entry{name: eventName(e), value: value}
}

// eventName returns the event's type and, if any, its location.
func eventName(e event.Event) string {
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

// isSuperseded reports whether a later kernel repeated the event's attempt, so that the repeated event counts instead.
//
// The result of a gated call is superseded only if the call's attempt had ended in an error, after which the next
// attempt starts over. A call whose effect happened twice thus shows as two results.
func isSuperseded(journal []event.Event, i int) bool {
	e := journal[i]
	if e.Type == event.QuestionAnswered {
		return isAskedAgain(journal[i+1:], e)
	}
	asked := e.Type == event.QuestionAsked && questionKind(e) == event.QuestionTool
	if treatments[e.Type] == stable && !asked {
		return false
	}
	result, _ := event.Decode[event.ToolResultData](e)
	ended := e.Type != event.ToolResult || result.Observed
	for _, later := range journal[i+1:] {
		ended = ended || later.Type == event.Error && later.Key == e.Key
		if ended && later.Epoch > e.Epoch && later.Type == e.Type && eventName(later) == eventName(e) {
			return true
		}
	}
	return false
}

// isAskedAgain reports whether a later kernel repeats a tool question: the answer had not reached the
// interrupted attempt.
func isAskedAgain(journal []event.Event, answer event.Event) bool {
	return slices.ContainsFunc(journal, func(e event.Event) bool {
		return e.Epoch > answer.Epoch && questionKind(e) == event.QuestionTool && questionID(e) == questionID(answer)
	})
}

func callID(e event.Event) string {
	if e.Type != event.ToolCall && e.Type != event.ToolResult {
		return ""
	}
	d, _ := event.Decode[event.ToolResultData](e) // both types have the member
	return d.CallID
}
