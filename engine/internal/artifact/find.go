package artifact

import (
	"errors"
	"io/fs"
	"path"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The values of artifact.from.
const (
	FromFile   = "file"
	FromResult = "result"
	FromOutput = "output"
)

// Sources are the places in an iteration where an agent's artifact may be.
type Sources struct {
	Dir       *store.Dir
	Iteration store.Iteration
	// ResultMember is the member artifact of the agent's result, nil for none.
	ResultMember []byte
	// Output is the agent's output, nil for none.
	Output *event.Ref
}

// Candidate is an artifact as found, before validation.
type Candidate struct {
	Data map[string]any // without envelope; nil without a readable artifact
	From string         // the file that contains it, "" without an artifact
	// Faults lists the reasons why the text is not an artifact of the contract's version.
	Faults []schema.Fault
}

// Find returns the artifact at the source that the contract names, else from the tool call, the file, the result or
// the output. The first source with content counts, even if its content is invalid. An error means that the session's
// own files are unreadable.
func (l Sources) Find(c *plan.Artifact) (Candidate, error) {
	for _, place := range l.finders(c) {
		found, err := place()
		if err != nil || found.From != "" {
			return found.unwrap(c), err
		}
	}
	return Candidate{}, nil
}

func (l Sources) finders(c *plan.Artifact) []func() (Candidate, error) {
	limit := c.Limit()
	file := func() (Candidate, error) {
		return l.findInFile(limit, l.Iteration.Artifact(), l.Iteration.ArtifactJSON())
	}
	result := func() (Candidate, error) { return l.findInResult(limit), nil }
	output := func() (Candidate, error) { return l.findInOutput(limit, c.From == FromOutput) }
	switch c.From {
	case FromFile:
		return []func() (Candidate, error){file}
	case FromResult:
		return []func() (Candidate, error){result}
	case FromOutput:
		return []func() (Candidate, error){output}
	default:
		call := func() (Candidate, error) { return l.findInFile(limit, l.Iteration.ArtifactCall()) }
		return []func() (Candidate, error){call, file, result, output}
	}
}

func (l Sources) findInFile(limit int64, names ...string) (Candidate, error) {
	for _, name := range names {
		text, err := l.Dir.Read(name, limit)
		var known *failure.Error
		switch {
		case errors.As(err, &known): // the session's directory is missing
			return Candidate{}, err
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, store.ErrTooLarge):
			return Candidate{From: path.Base(name), Faults: tooLarge(limit)}, nil
		case err != nil: // the agent's fault: a directory, a pipe, a link that leaves the session
			return Candidate{From: path.Base(name), Faults: syntaxFault("%v", err)}, nil
		}
		data, faults := parseObject(text, limit)
		return Candidate{data, path.Base(name), faults}, nil
	}
	return Candidate{}, nil
}

func (l Sources) findInResult(limit int64) Candidate {
	if l.ResultMember == nil {
		return Candidate{}
	}
	data, faults := parseObject(l.ResultMember, limit)
	return Candidate{data, path.Base(l.Iteration.Result()), faults}
}

func (l Sources) findInOutput(limit int64, required bool) (Candidate, error) {
	if l.Output == nil {
		return Candidate{}, nil
	}
	text, err := l.Dir.ReadRef(*l.Output)
	if err != nil {
		return Candidate{}, err
	}
	data, faults := parseReply(string(text), limit, required)
	if data == nil && faults == nil {
		return Candidate{}, nil
	}
	return Candidate{data, path.Base(l.Output.Path), faults}, nil
}

// unwrap removes the envelope and checks its version against the contract.
func (f Candidate) unwrap(c *plan.Artifact) Candidate {
	if f.Data == nil {
		return f
	}
	meta, _ := f.Data[metaKey].(map[string]any)
	if version, has := meta["version"]; has {
		f.Faults = append(f.Faults, versionFaults(version, c)...)
	}
	f.Data = stripEnvelope(f.Data)
	return f
}
