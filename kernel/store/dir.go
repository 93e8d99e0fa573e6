package store

import (
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// The names of a session's files that belong to no node.
const (
	EventsFile   = "events.jsonl"
	EventsLock   = EventsFile + ".lock" // locked while the journal is appended to; it stays as an empty file
	HeadFile     = "head.json"          // signed head of the journal, as the last process left it
	PlanFile     = "plan.json"
	PipelineFile = "pipeline.yaml" // copy of the source, rewritten at every start
	MetricsFile  = "metrics.json"
	QuestionsDir = "questions"
	// EscalationsDir holds the questions of kind escalation and the answers of users, in the form of docs/run-files.md.
	EscalationsDir = "escalations"
	InboxDir       = "inbox"
	BadInboxDir    = InboxDir + "/bad" // unreadable messages
	LibraryDir     = "library"         // copies of the shipped stages that the run uses
	ArtifactsDir   = "artifacts"
	HooksDir       = "hooks" // texts that hooks pass to agents
)

// QuestionFile returns the file of a question to the user.
func QuestionFile(id string) string { return QuestionsDir + "/" + pathElement(id) + ".json" }

// EscalationFile returns the file of the escalation with the id.
func EscalationFile(id string) string { return EscalationsDir + "/" + pathElement(id) + ".yaml" }

// ResolutionFile returns the file in which a user answers the escalation with the id.
func ResolutionFile(id string) string {
	return EscalationsDir + "/" + pathElement(id) + ".resolution.yaml"
}

// HookText returns the file of the text that a hook returned, from its key in the journal and its hook point.
func HookText(key event.Key, point string) string {
	return HooksDir + "/" + pathElement(strings.NewReplacer("hook:", point+"-", "/", "-", "#", "-").Replace(string(key))) + ".md"
}

// ProgressFile returns the name of the progress file of a pipeline with a single stage.
func ProgressFile(session string) string { return "progress-" + session + ".md" }

// Dir is the directory of one session. It is safe for concurrent use. If the directory is removed from
// outside, every method fails and says so.
type Dir struct {
	*Store
	session string
	project string
}

// Session returns the session's name.
func (d *Dir) Session() string { return d.session }

// Project returns the absolute path of the session's project.
func (d *Dir) Project() string { return d.project }

// The headers of progress files are byte for byte those of the Bash engine. Agents append below a header, which never
// overwrites existing text.

// EnsureSessionProgress makes the session's progress file and returns its name.
func (d *Dir) EnsureSessionProgress() (string, error) {
	name := ProgressFile(d.session)
	return name, d.Ensure(name, fmt.Appendf(nil, `# Progress: %s

Verify: (none)

## Codebase Patterns
(Add patterns discovered during implementation here)

---

`, d.session))
}

// EnsureStageProgress makes the progress file of a pipeline's stage and returns its name.
func (d *Dir) EnsureStageProgress(n Node) (string, error) {
	return n.Progress(), d.Ensure(n.Progress(), []byte("# Stage Progress\n\n---\n"))
}

// EnsureProviderProgress makes the progress file of a provider in a parallel block and returns its name; n is
// the provider's directory.
func (d *Dir) EnsureProviderProgress(n Node, provider string) (string, error) {
	return n.Progress(), d.Ensure(n.Progress(),
		fmt.Appendf(nil, "# Progress: %s (%s)\n\nProvider: %s\n\n---\n\n", d.session, provider, provider))
}
