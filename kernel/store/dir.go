package store

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// The names of a session that belong to no node.
const (
	StateFile    = "state.json"
	EventsFile   = "events.jsonl"
	EventsLock   = EventsFile + ".lock" // locked while the journal is appended to; stays, empty
	PlanFile     = "plan.json"
	PipelineFile = "pipeline.yaml" // copy of the source, rewritten at every start
	MetricsFile  = "metrics.json"
	QuestionsDir = "questions"
	// EscalationsDir holds the questions of kind escalation once more, in the form of seed 001, and people's answers.
	EscalationsDir = "escalations"
	InboxDir       = "inbox"
	BadInboxDir    = InboxDir + "/bad" // messages nobody could read
	LibraryDir     = "library"         // copies of the shipped stages that the run uses
	ArtifactsDir   = "artifacts"
	HooksDir       = "hooks" // texts of hooks for the agents
)

// QuestionFile is the name of a question to a person.
func QuestionFile(id string) string { return QuestionsDir + "/" + pathElement(id) + ".json" }

// EscalationFile is the name of an escalation, by its id.
func EscalationFile(id string) string { return EscalationsDir + "/" + pathElement(id) + ".yaml" }

// ResolutionFile is the name of what a person writes to answer it.
func ResolutionFile(id string) string {
	return EscalationsDir + "/" + pathElement(id) + ".resolution.yaml"
}

// HookText is the file of the text that a hook gave: its key in the journal and the point it was called at.
func HookText(key event.Key, point string) string {
	return HooksDir + "/" + pathElement(strings.NewReplacer("hook:", point+"-", "/", "-", "#", "-").Replace(string(key))) + ".md"
}

// ProgressFile is the name of a loop's progress file.
func ProgressFile(session string) string { return "progress-" + session + ".md" }

// Dir is the directory of one session. Its methods may be called from several goroutines. Once the
// directory is removed from outside, all of them fail and say so.
type Dir struct {
	*Store
	session string
	project string
}

// Session is the session's name.
func (d *Dir) Session() string { return d.session }

// Project is the absolute path of the project that the session belongs to.
func (d *Dir) Project() string { return d.project }
