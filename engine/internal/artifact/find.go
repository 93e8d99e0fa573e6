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

// The places where an artifact may come from (artifact.from).
const (
	FromFile   = "file"
	FromResult = "result"
	FromOutput = "output"
)

// Left is what an agent left behind in an iteration.
type Left struct {
	Dir       *store.Dir
	Iteration store.Iteration
	// Written is the member artifact of its result, nil for none.
	Written []byte
	// Output is what it said, nil for nothing.
	Output *event.Ref
}

// Found is an artifact that was found.
type Found struct {
	Data map[string]any // without envelope; nil where there is none, or none that can be read
	From string         // the file that it was found in, "" where there is none
	// Faults say why what was found is no artifact, or none of the contract's version.
	Faults []schema.Fault
}

// Find looks for the artifact at the place that the contract names, else at all of them: the call of its tool, the
// file, the result, the output. The first place that has something counts, even if that is broken. An error means that
// the session's own files cannot be read.
func (l Left) Find(c *plan.Artifact) (Found, error) {
	for _, place := range l.places(c) {
		found, err := place()
		if err != nil || found.From != "" {
			return found.of(c), err
		}
	}
	return Found{}, nil
}

func (l Left) places(c *plan.Artifact) []func() (Found, error) {
	limit := c.Limit()
	file := func() (Found, error) { return l.inFile(limit, l.Iteration.Artifact(), l.Iteration.ArtifactJSON()) }
	result := func() (Found, error) { return l.inResult(limit), nil }
	output := func() (Found, error) { return l.inOutput(limit, c.From == FromOutput) }
	switch c.From {
	case FromFile:
		return []func() (Found, error){file}
	case FromResult:
		return []func() (Found, error){result}
	case FromOutput:
		return []func() (Found, error){output}
	default:
		call := func() (Found, error) { return l.inFile(limit, l.Iteration.ArtifactCall()) }
		return []func() (Found, error){call, file, result, output}
	}
}

func (l Left) inFile(limit int64, names ...string) (Found, error) {
	for _, name := range names {
		text, err := l.Dir.Read(name, limit)
		var known *failure.Error
		switch {
		case errors.As(err, &known): // the session's directory is gone
			return Found{}, err
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, store.ErrTooLarge):
			return Found{From: path.Base(name), Faults: tooLarge(limit)}, nil
		case err != nil: // a directory, a pipe, a link that leads out: the agent's doing
			return Found{From: path.Base(name), Faults: broken("%v", err)}, nil
		}
		data, faults := parse(text, limit)
		return Found{data, path.Base(name), faults}, nil
	}
	return Found{}, nil
}

func (l Left) inResult(limit int64) Found {
	if l.Written == nil {
		return Found{}
	}
	data, faults := parse(l.Written, limit)
	return Found{data, path.Base(l.Iteration.Result()), faults}
}

func (l Left) inOutput(limit int64, sure bool) (Found, error) {
	if l.Output == nil {
		return Found{}, nil
	}
	text, err := l.Dir.ReadRef(*l.Output)
	if err != nil {
		return Found{}, err
	}
	data, faults := fromReply(string(text), limit, sure)
	if data == nil && faults == nil {
		return Found{}, nil
	}
	return Found{data, path.Base(l.Output.Path), faults}, nil
}

// of takes the envelope off what was found, and says whether its version is that of the contract.
func (f Found) of(c *plan.Artifact) Found {
	if f.Data == nil {
		return f
	}
	meta, _ := f.Data[metaKey].(map[string]any)
	if said, there := meta["version"]; there {
		f.Faults = append(f.Faults, versionFaults(said, c)...)
	}
	f.Data = stripped(f.Data)
	return f
}
