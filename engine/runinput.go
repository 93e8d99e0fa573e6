package engine

import (
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// handed is what a run is handed by whoever starts it, for nodes that make artifacts or look at them.
type handed struct {
	fields map[string]any            // of the artifact that it begins with; nil where it begins with none
	given  map[string]map[string]any // artifacts of nodes that it need not make, by path
}

// The fields that the kernel itself makes.
const (
	fieldRequest   = "original_request" // what whoever started the run said
	fieldRequestID = "request_id"
)

// fieldName is a name that requires, carry and skip_when can say.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// handed reads what the run is given. Nothing is written yet: what is wrong is [ErrOptions].
func (e *Engine) handed(p *plan.Plan, fields map[string]string) (handed, error) {
	var files map[string]string
	if o := p.Pipeline.Overrides; o != nil {
		files = o.Artifacts
	}
	h := handed{given: map[string]map[string]any{}}
	if len(files)+len(fields) == 0 && !p.UsesArtifacts() {
		return h, nil
	}
	h.fields = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := usable("the field", name); err != nil {
			return h, err
		}
		h.fields[name] = fields[name]
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := e.handFile(p, &h, name, files[name]); err != nil {
			return h, err
		}
	}
	return h, nil
}

// suffices refuses a start whose first node would lack what it requires of what is handed: the run could never go on.
func (h handed) suffices(p *plan.Plan) error {
	n := p.Find(p.First())
	if n == nil || p.Skipped(n) || h.fields == nil {
		return nil
	}
	began := state.State{Input: &event.Ref{}, Given: map[string]event.Ref{}}
	for path := range h.given {
		began.Given[path] = event.Ref{}
	}
	in, _ := artifact.InputOf(p, began, n, event.Location{Node: n.Path})
	begins := artifact.Effective{From: in.From, Data: maps.Clone(h.fields)}
	begins.Data[fieldRequestID] = ""
	if o := p.Pipeline.Overrides; o != nil && o.Context != "" {
		begins.Data[fieldRequest] = o.Context
	}
	if i := slices.IndexFunc(p.Nodes, func(s plan.Node) bool { return s.ID == in.From }); i >= 0 {
		maps.Copy(begins.Data, h.given[p.Nodes[i].Path])
	}
	missing, _ := begins.Lacks(begins.Demanded(n.Requires, true))
	if len(missing) == 0 {
		return nil
	}
	f := failure.From(begins.Unfit(n.ID, missing))
	return refused(ErrOptions, "%s", f.Message).WithHint("%s", f.Hint)
}

// handFile reads one file: for the node of that name, else for the field.
func (e *Engine) handFile(p *plan.Plan, h *handed, name, file string) error {
	i := slices.IndexFunc(p.Nodes, func(n plan.Node) bool { return n.ID == name })
	_, twice := h.fields[name]
	switch {
	case twice:
		return refused(ErrOptions, "%q is given twice: as a field and as the artifact %s", name, file)
	case i < 0:
		if err := usable("the artifact", name); err != nil {
			return err
		}
	}
	var contract *plan.Artifact
	if i >= 0 {
		contract = p.Nodes[i].Artifact
	}
	data, err := e.readHanded(name, file, contract)
	if err != nil {
		return err
	}
	if i >= 0 {
		h.given[p.Nodes[i].Path] = data
	} else {
		h.fields[name] = data
	}
	return nil
}

// usable refuses a name that no field of the artifact that a run begins with can have.
func usable(what, name string) error {
	switch {
	case name == fieldRequest || name == fieldRequestID:
		return refused(ErrOptions, "%s %q is one that every run gets by itself", what, name).WithHint("give it another name")
	case !fieldName.MatchString(name):
		return refused(ErrOptions, "%s %.80q is named neither like a node of the pipeline nor like a field", what, name).
			WithHint("a field begins with a letter and has letters, digits, _ and -, at most 64")
	}
	return nil
}

// readHanded reads the data of an artifact that fits a contract, nil for any.
func (e *Engine) readHanded(name, file string, contract *plan.Artifact) (map[string]any, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.config.workDir, file)
	}
	text, err := readFile(file, plan.MaxMaxBytes)
	if err != nil {
		return nil, refused(ErrOptions, "the artifact %s: %s: %v", name, file, err)
	}
	data, faults, err := artifact.Validate(text, contract)
	if err != nil {
		return nil, fmt.Errorf("the artifact %s: %w", name, err)
	}
	if len(faults) == 0 {
		return data, nil
	}
	list := e.faultLines(faults)
	f := refused(ErrOptions, "the artifact %s in %s cannot be used: %s", name, file, strings.Join(list, "; "))
	f.Detail = strings.Join(list, "\n") + "\n"
	if contract != nil {
		f = f.WithHint("it has to be what the contract of the node %s says (artifact in the pipeline)", name)
	}
	return nil, f
}

// faultLines are the first faults for a person, without secrets.
func (e *Engine) faultLines(faults []schema.Fault) []string {
	var list []string
	for i, f := range faults {
		if i == event.MaxFaults {
			list = append(list, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		list = append(list, e.redactor.Text(f.String()))
	}
	return list
}

// readFile reads a regular file that is not larger than limit.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s", diagnostic.Problem(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is no file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s", diagnostic.Problem(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s", diagnostic.Problem(err))
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return text, nil
}

// takeHanded writes what the run is handed into the session's directory, without secrets, and returns the references.
func (s *session) takeHanded(h handed, runID string, now time.Time) (input *event.Ref, given map[string]event.Ref, err error) {
	if h.fields == nil {
		return nil, nil, nil
	}
	if o := s.plan.Pipeline.Overrides; o != nil && o.Context != "" {
		h.fields[fieldRequest] = o.Context
	}
	h.fields[fieldRequestID] = newRequestID(now)
	agent, metadata := s.redactor.Agent(), artifact.Metadata{PipelineID: runID}
	redaction.Data(agent, h.fields)
	ref, err := artifact.WriteStart(s.dir, artifact.Artifact{Meta: artifact.StartMeta(now), Data: h.fields, Metadata: metadata})
	if err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(h.given)) {
		data := h.given[path]
		redaction.Data(agent, data)
		a := artifact.Artifact{Meta: artifact.MetaOf(s.plan.Find(path), now), Data: data, Metadata: metadata}
		of, err := artifact.WriteGiven(s.dir, s.plan, path, a)
		if err != nil {
			return nil, nil, err
		}
		if given == nil {
			given = map[string]event.Ref{}
		}
		given[path] = of
	}
	return &ref, given, nil
}

// newRequestID identifies a request: REQ-<UTC time>-<4 digits>.
func newRequestID(now time.Time) string {
	n, err := rand.Int(rand.Reader, big.NewInt(10_000))
	if err != nil { // never
		panic(err)
	}
	return fmt.Sprintf("REQ-%s-%04d", now.UTC().Format("20060102150405"), n)
}
