package source

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// RunInput holds the caller's input of a run, for nodes that make or read artifacts.
type RunInput struct {
	fields        map[string]any            // of the run's input artifact; nil if the run has none
	nodeArtifacts map[string]map[string]any // artifacts of nodes that need not run, by node path
}

// These constants are the names of the fields that the engine sets.
const (
	fieldRequest   = "original_request" // the text given at the start
	fieldRequestID = "request_id"
)

// fieldName matches the field names that requires, carry and skip_when accept; they have at most maxFieldName bytes.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

const maxFieldName = 64

// readRunInput reads and checks the input of a run. It writes nothing. Invalid input is [environment.ErrOptions].
func readRunInput(env *environment.Environment, p *plan.Plan, fields map[string]string) (RunInput, error) {
	var files map[string]string
	if o := p.Pipeline.Overrides; o != nil {
		files = o.Artifacts
	}
	in := RunInput{nodeArtifacts: map[string]map[string]any{}}
	if len(files)+len(fields) == 0 && !p.UsesArtifacts() {
		return in, nil
	}
	in.fields = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := checkInputName("the field", name); err != nil {
			return in, err
		}
		in.fields[name] = fields[name]
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := addInputFile(env, p, &in, name, files[name]); err != nil {
			return in, err
		}
	}
	return in, nil
}

// checkFirstNode rejects a start whose first node would lack a required field; the run could never proceed.
func (h RunInput) checkFirstNode(p *plan.Plan) error {
	n := p.Find(p.First())
	if n == nil || p.Skipped(n) || h.fields == nil {
		return nil
	}
	start := state.State{Position: state.Position{Input: &event.Ref{}, SuppliedArtifacts: map[string]event.Ref{}}}
	for path := range h.nodeArtifacts {
		start.SuppliedArtifacts[path] = event.Ref{}
	}
	input, _ := artifact.FindInput(p, start, n, event.Location{Node: n.Path})
	effective := artifact.NodeInput{From: input.From, Data: maps.Clone(h.fields)}
	effective.Data[fieldRequestID] = ""
	if o := p.Pipeline.Overrides; o != nil && o.Context != "" {
		effective.Data[fieldRequest] = o.Context
	}
	if i := slices.IndexFunc(p.Nodes, func(s plan.Node) bool { return s.ID == input.From }); i >= 0 {
		maps.Copy(effective.Data, h.nodeArtifacts[p.Nodes[i].Path])
	}
	missing, _ := effective.MissingFields(effective.RequiredFields(n.Requires, true))
	if len(missing) == 0 {
		return nil
	}
	f := failure.From(effective.RequirementError(n.ID, missing))
	return optionsError("%s", f.Message).WithHint("%s", f.Hint)
}

// addInputFile reads one file as the artifact of the node of that name, or else as a field.
func addInputFile(env *environment.Environment, p *plan.Plan, in *RunInput, name, file string) error {
	i := slices.IndexFunc(p.Nodes, func(n plan.Node) bool { return n.ID == name })
	_, twice := in.fields[name]
	switch {
	case twice:
		return optionsError("%q is given twice: as a field and as the artifact %s", name, file)
	case i < 0:
		if err := checkInputName("the artifact", name); err != nil {
			return err
		}
	}
	var contract *plan.Artifact
	if i >= 0 {
		contract = p.Nodes[i].Artifact
	}
	data, err := readInputFile(env, name, file, contract)
	if err != nil {
		return err
	}
	if i >= 0 {
		in.nodeArtifacts[p.Nodes[i].Path] = data
	} else {
		in.fields[name] = data
	}
	return nil
}

// checkInputName rejects a name that no field of the input artifact can have.
func checkInputName(kind, name string) error {
	switch {
	case name == fieldRequest || name == fieldRequestID:
		return optionsError("%s %q is reserved: every run sets it", kind, name).WithHint("give it another name")
	case len(name) > maxFieldName || !fieldName.MatchString(name):
		return optionsError("%s %.80q is neither a node of the pipeline nor a valid field name", kind, name).
			WithHint("use a letter followed by at most 63 letters, digits, _ or -")
	}
	return nil
}

// readInputFile reads an artifact file and checks it against a contract; nil accepts any.
func readInputFile(env *environment.Environment, name, file string, contract *plan.Artifact) (map[string]any, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(env.Config.WorkDir, file)
	}
	text, err := readFile(file, plan.MaxMaxBytes)
	if err != nil {
		return nil, optionsError("the artifact %s: %s: %v", name, file, err)
	}
	data, faults, err := artifact.Validate(text, contract)
	if err != nil {
		return nil, fmt.Errorf("the artifact %s: %w", name, err)
	}
	if len(faults) == 0 {
		return data, nil
	}
	list := faultLines(env, faults)
	f := optionsError("the artifact %s in %s cannot be used: %s", name, file, strings.Join(list, "; "))
	f.Detail = strings.Join(list, "\n") + "\n"
	if contract != nil {
		f = f.WithHint("make it meet the contract of node %s (artifact in the pipeline)", name)
	}
	return nil, f
}

// faultLines formats the first faults, without secrets.
func faultLines(env *environment.Environment, faults []schema.Fault) []string {
	var list []string
	for i, f := range faults {
		if i == event.MaxFaults {
			list = append(list, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		list = append(list, env.Redactor.Text(f.String()))
	}
	return list
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case err == nil && info.Size() > limit:
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, errors.New(yamldoc.ReadProblem(err))
	}
	return text, nil
}

// optionsError returns an error about the options of a run; errors.Is finds [environment.ErrOptions].
func optionsError(format string, args ...any) *failure.Error {
	e := failure.New(failure.SessionState, format, args...)
	e.Cause = environment.ErrOptions
	return e
}

// Store writes the input artifacts into the session's directory, without secrets, and returns their
// references.
func (h RunInput) Store(dir *store.Dir, p *plan.Plan, redactor *redact.Redactor, runID string, now time.Time) (input *event.Ref, artifacts map[string]event.Ref, err error) {
	if h.fields == nil {
		return nil, nil, nil
	}
	if o := p.Pipeline.Overrides; o != nil && o.Context != "" {
		h.fields[fieldRequest] = o.Context
	}
	h.fields[fieldRequestID] = newRequestID(now)
	agent, metadata := redactor.ForAgent(), artifact.Metadata{PipelineID: runID}
	redaction.Data(agent, h.fields)
	ref, err := artifact.WriteStart(dir, artifact.Artifact{Meta: artifact.StartMeta(now), Data: h.fields, Metadata: metadata})
	if err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(h.nodeArtifacts)) {
		data := h.nodeArtifacts[path]
		redaction.Data(agent, data)
		a := artifact.Artifact{Meta: artifact.NewMeta(p.Find(path), now), Data: data, Metadata: metadata}
		ref, err := artifact.WriteSupplied(dir, p, path, a)
		if err != nil {
			return nil, nil, err
		}
		if artifacts == nil {
			artifacts = map[string]event.Ref{}
		}
		artifacts[path] = ref
	}
	return &ref, artifacts, nil
}

// newRequestID returns a new request id: REQ-<UTC time>-<4 digits>.
func newRequestID(now time.Time) string {
	n, err := rand.Int(rand.Reader, big.NewInt(10_000))
	if err != nil { // rand.Reader never fails
		panic(err)
	}
	return fmt.Sprintf("REQ-%s-%04d", now.UTC().Format("20060102150405"), n)
}
