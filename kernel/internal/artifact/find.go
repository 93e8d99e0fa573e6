package artifact

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/schema"
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
	Dir       *rundir.Dir
	Iteration rundir.Iteration
	// Written is the member artifact of its result, nil for none.
	Written []byte
	// Output is what it said, nil for nothing.
	Output *event.Ref
}

// Found is an artifact that was found.
type Found struct {
	Data map[string]any // without envelope; nil where there is none, or none that can be read
	From string         // the file that it was found in, "" where there is none
	// Faults say why what was found is no artifact.
	Faults []schema.Fault
}

// Find looks for the artifact at the place that from names, "" for all of them: the file, the result, the output. The
// first place that has something counts, even if that is broken. An error means that the session's own files cannot
// be read.
func (l Left) Find(from string) (Found, error) {
	var found Found
	var err error
	if from == "" || from == FromFile {
		found, err = l.inFile()
	}
	if err == nil && found.From == "" && (from == "" || from == FromResult) {
		found = l.inResult()
	}
	if err == nil && found.From == "" && (from == "" || from == FromOutput) {
		found, err = l.inOutput(from == FromOutput)
	}
	return found, err
}

func (l Left) inFile() (Found, error) {
	for _, name := range []string{l.Iteration.Artifact(), l.Iteration.ArtifactJSON()} {
		text, err := l.Dir.Read(name, MaxBytes)
		var known *failure.Error
		switch {
		case errors.As(err, &known): // the session's directory is gone
			return Found{}, err
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, rundir.ErrTooLarge):
			return Found{From: path.Base(name), Faults: broken("it is larger than %d bytes", MaxBytes)}, nil
		case err != nil: // a directory, a pipe, a link that leads out: the agent's doing
			return Found{From: path.Base(name), Faults: broken("%v", err)}, nil
		}
		data, faults := parse(text)
		return Found{data, path.Base(name), faults}, nil
	}
	return Found{}, nil
}

func (l Left) inResult() Found {
	if l.Written == nil {
		return Found{}
	}
	data, faults := parse(l.Written)
	return Found{data, path.Base(l.Iteration.Result()), faults}
}

func (l Left) inOutput(sure bool) (Found, error) {
	if l.Output == nil {
		return Found{}, nil
	}
	text, err := l.Dir.ReadRef(*l.Output)
	if err != nil {
		return Found{}, err
	}
	data, faults := fromReply(string(text), sure)
	if data == nil && faults == nil {
		return Found{}, nil
	}
	return Found{data, path.Base(l.Output.Path), faults}, nil
}

// Missing is the failure of an attempt that left no artifact at the place that from names.
func (l Left) Missing(from string) error {
	where := map[string]string{
		FromFile:   "write it to the path of ${ARTIFACT}, " + path.Base(l.Iteration.Artifact()) + " in the iteration's folder",
		FromResult: "write it as the member artifact of result.json",
		FromOutput: "end the reply with it in a fenced block of YAML or JSON",
	}
	say := cmp.Or(where[from], strings.Join([]string{where[FromFile], where[FromResult], where[FromOutput]}, ", or "))
	return failure.New(failure.ResultMissing, "the agent left no artifact").WithHint("the prompt has to tell the agent to %s", say)
}

// Invalid is the failure of an attempt whose artifact has faults. Making the attempt again may help.
func (f Found) Invalid(faults []schema.Fault) error {
	e := failure.New(failure.ResultInvalid, "the artifact in %s is not what the contract says: %s", f.From, strings.ReplaceAll(strings.TrimRight(lines(faults), "\n"), "\n", "; "))
	e.Retryable = true
	return e.WithDetail(lines(faults)).WithHint("the agent is told when the attempt is made again; artifact.schema of the node says what is expected")
}
