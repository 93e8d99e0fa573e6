package question

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Status is the condition of an escalation.
type Status string

// The constants of type Status are the conditions of an escalation.
const (
	Pending  Status = "pending"
	Resolved Status = "resolved" // the run continued
	Rejected Status = "rejected" // an answer or an abort ended the session
	Expired  Status = "expired"  // no answer came in time
)

// File is the content of escalations/<id>.yaml.
type File struct {
	ID       string
	RunID    string
	Session  string
	Question string // the question's id
	Stage    string // id of the node, "" for the session
	Provider string // in a parallel block; may be empty
	// Details is the question. It refers to the stage's artifact and feedback by paths in the session's directory.
	Details state.Question
	Status  Status
	// Resolution is the answer, nil while the escalation is pending.
	Resolution *Resolution
	By         string // the author of the answer
	ResolvedAt time.Time
}

// Render returns the file as YAML. A pending file begins with comments that say how to answer it.
func Render(f File) ([]byte, error) {
	members := []yamlwrite.Member{
		{Key: "escalation_id", Value: f.ID},
		{Key: "pipeline_id", Value: f.RunID},
		{Key: "session", Value: f.Session},
		{Key: "question", Value: f.Question},
		{Key: "stage", Value: f.Stage},
	}
	add := func(key, text string) {
		if text != "" {
			members = append(members, yamlwrite.Member{Key: key, Value: text})
		}
	}
	add("provider", f.Provider)
	add("issue", f.Details.Text)
	add("code", f.Details.Code)
	add("remedy", f.Details.Remedy)
	members = append(members, yamlwrite.Member{Key: "context", Value: f.context()})
	add("created_at", stamp(f.Details.AskedAt))
	if f.Details.Due != nil {
		add("due", stamp(*f.Details.Due))
	}
	add("status", string(f.Status))
	if r := f.Resolution; r != nil {
		members = append(members, yamlwrite.Member{Key: "resolution", Value: map[string]any{
			"abort": r.Abort, "context": r.Context, "by": f.By, "at": stamp(f.ResolvedAt),
		}})
	}
	text, err := yamlwrite.Render(members)
	if err != nil || f.Status != Pending {
		return text, err
	}
	return append([]byte(advice(f.ID)), text...), nil
}

// context returns references to the files that the escalation is about, and the options of the answer.
func (f File) context() map[string]any {
	files := []any{}
	for _, ref := range f.Details.Shown {
		files = append(files, map[string]any{"path": ref.Path, "sha256": ref.SHA256, "bytes": ref.Size})
	}
	options := []any{}
	for _, o := range f.Details.Options {
		options = append(options, o)
	}
	return map[string]any{"files": files, "options": options}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Example is a resolution in one line. TEXT is replaced by the text for the next prompts.
const Example = `{abort: false, context: "TEXT"}`

// advice returns comments that say how to answer the escalation.
func advice(id string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# To answer it, write %s next to this file:\n#\n", path.Base(store.ResolutionFile(id)))
	b.WriteString("#   abort: false      # true ends the session for good\n")
	b.WriteString("#   context:          # a text or any other value for the next prompts\n")
	b.WriteString("#     answer: use Google\n")
	b.WriteString("#\n# In a session with a sandbox, write it anywhere and run answer SESSION QUESTION --from-file FILE.\n")
	return b.String()
}
