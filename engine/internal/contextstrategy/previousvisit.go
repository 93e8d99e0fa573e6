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

// VisitFiles are the files of a node's previous visit, nil for missing ones.
type VisitFiles struct{ Output, Artifact *event.Ref }

// PreviousVisit returns the files of the node's previous visit if feedback caused the new visit. The feedback may
// come from the user, a check, or a later node's agent. Otherwise, and for a step, there are no files.
func PreviousVisit(d *store.Dir, p *plan.Plan, st state.State, at event.Location) (VisitFiles, error) {
	var files VisitFiles
	ns := st.Nodes[at.Outer()]
	if at.Visit < 2 || at.Step != "" || ns.Feedback == nil && ns.Cause == "" && !ns.Rejected {
		return files, nil
	}
	at.Visit--
	dir, err := store.NodeAt(p, at)
	if err != nil {
		return files, err
	}
	iterations, err := d.Entries(string(dir) + "/iterations")
	if err != nil {
		return files, err
	}
	for i := len(iterations); i > 0 && files.Output == nil; i-- {
		if files.Output, err = optionalRef(d, dir.Iteration(i).Output()); err != nil {
			return files, err
		}
	}
	file, _, err := store.ArtifactFiles(p, at)
	if err == nil {
		files.Artifact, err = optionalRef(d, file)
	}
	return files, err
}

// optionalRef returns a reference to a file, nil if the file is missing.
func optionalRef(d *store.Dir, name string) (*event.Ref, error) {
	ref, err := d.Ref(name)
	var known *failure.Error
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known):
		return nil, nil //nolint:nilnil // no error without one
	case err != nil:
		return nil, err
	}
	return &ref, nil
}

// PreviousVisitSections returns the artifact of the node's previous visit, else its output, as a section.
func (s Source) PreviousVisitSections(files VisitFiles) ([]Section, error) {
	const name = "your earlier attempt"
	switch {
	case files.Artifact != nil:
		text, err := s.artifactBody(*files.Artifact)
		return []Section{{Kind: File, Name: name + ", its artifact", Text: text}}, err
	case files.Output == nil:
		return nil, nil
	case files.Output.Size > artifact.MaxInline:
		text := fmt.Sprintf("It is too large to be shown here. Read what you need of it.\npath: %s\nsize: %d bytes\nsha256: %s\n", s.Dir.Abs(files.Output.Path), files.Output.Size, files.Output.SHA256)
		return []Section{{Kind: File, Name: name, Text: text}}, nil
	default:
		text, err := s.Dir.ReadRef(*files.Output)
		return []Section{{Kind: File, Name: name, Text: string(text)}}, err
	}
}
