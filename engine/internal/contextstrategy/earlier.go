package contextstrategy

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Attempted is what the visit of a node before this one left, nil for what it did not.
type Attempted struct{ Output, Artifact *event.Ref }

// Earlier is what the last visit of the node at a place left, where the node is entered again because of what somebody
// said of that: a person, a check, the agent of a node behind it. Empty otherwise, and for a step.
func Earlier(d *store.Dir, p *plan.Plan, st state.State, at event.Location) (Attempted, error) {
	var left Attempted
	ns := st.Nodes[at.Outer()]
	if at.Visit < 2 || at.Step != "" || ns.Feedback == nil && ns.Cause == "" && !ns.Rejected {
		return left, nil
	}
	at.Visit--
	dir, err := store.At(p, at)
	if err != nil {
		return left, err
	}
	made, err := d.Entries(string(dir) + "/iterations")
	if err != nil {
		return left, err
	}
	for i := len(made); i > 0 && left.Output == nil; i-- {
		if left.Output, err = refOf(d, dir.Iteration(i).Output()); err != nil {
			return left, err
		}
	}
	file, _, err := store.Artifact(p, at)
	if err == nil {
		left.Artifact, err = refOf(d, file)
	}
	return left, err
}

// refOf refers to a file, nil if there is none.
func refOf(d *store.Dir, name string) (*event.Ref, error) {
	ref, err := d.Ref(name)
	var known *failure.Error
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	}
	return &ref, nil
}

// EarlierSections tell what the last visit of the node left: its artifact, else what it said.
func (s Source) EarlierSections(left Attempted) ([]Section, error) {
	const name = "your earlier attempt"
	switch {
	case left.Artifact != nil:
		text, err := s.artifactAt(*left.Artifact)
		return []Section{{Kind: File, Name: name + ", its artifact", Text: text}}, err
	case left.Output == nil:
		return nil, nil
	case left.Output.Size > artifact.MaxInline:
		text := fmt.Sprintf("It is too large to be shown here. Read what you need of it.\npath: %s\nsize: %d bytes\nsha256: %s\n", s.Dir.Abs(left.Output.Path), left.Output.Size, left.Output.SHA256)
		return []Section{{Kind: File, Name: name, Text: text}}, nil
	default:
		text, err := s.Dir.ReadRef(*left.Output)
		return []Section{{Kind: File, Name: name, Text: string(text)}}, err
	}
}
