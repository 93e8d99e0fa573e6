package artifact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Artifact is an artifact as it is kept.
type Artifact struct {
	Meta     Meta
	Data     map[string]any // as the node made it, with what was measured
	Metadata Metadata
}

// Meta says what the artifact is.
type Meta struct {
	StageName    string    `json:"stage_name"` // the node's id
	ArtifactType string    `json:"artifact_type"`
	Version      string    `json:"version"` // of the contract, "1.0" where it says none
	CreatedAt    time.Time `json:"created_at"`
}

// Metadata says how it was made.
type Metadata struct {
	PipelineID      string  `json:"pipeline_id"` // the run
	Iteration       int     `json:"iteration"`
	TokensUsed      int64   `json:"tokens_used"` // in and out, 0 where nobody said
	DurationSeconds float64 `json:"duration_seconds"`
	// Warnings are about the artifact that the node worked from.
	Warnings []string `json:"warnings,omitempty"`
}

// firstVersion is that of an artifact whose contract says none, and of one without an envelope.
const firstVersion = "1.0"

// MetaOf is the envelope's head for an artifact that a node makes.
func MetaOf(n *plan.Node, created time.Time) Meta {
	m := Meta{StageName: n.ID, ArtifactType: "generic", Version: firstVersion, CreatedAt: created.UTC().Truncate(time.Second)}
	if n.Artifact != nil && n.Artifact.Type != "" {
		m.ArtifactType = n.Artifact.Type
	}
	if n.Artifact != nil && n.Artifact.Version != "" {
		m.Version = n.Artifact.Version
	}
	return m
}

// Write keeps an artifact that the node at the place made: as that of the visit, which the reference names, and as the
// newest of the node, for people.
func Write(d *store.Dir, p *plan.Plan, at event.Location, a Artifact) (event.Ref, error) {
	visit, newest, err := store.Artifact(p, at)
	if err != nil {
		return event.Ref{}, err
	}
	return a.keep(d, visit, newest)
}

// tree is one of our own structs as plain data.
func tree(v any) any {
	var plain any
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		panic(fmt.Sprintf("render %T: %v", v, err))
	}
	return plain
}

// maxKept bounds an artifact that is kept: rendered, with its envelope and what is carried over, it is larger than it was.
const maxKept = 4 * plan.MaxMaxBytes

// Load reads the artifact that a reference names. The error is of kind state_corrupt if the file is not what was
// referred to, or is no artifact.
func Load(d *store.Dir, ref event.Ref) (Artifact, error) {
	if ref.Size > maxKept {
		return Artifact{}, failure.New(failure.StateCorrupt, "%s has %d bytes, at most %d are read", d.Abs(ref.Path), ref.Size, maxKept)
	}
	text, err := d.ReadRef(ref)
	if err != nil {
		return Artifact{}, err
	}
	a, err := Parse(text)
	if err != nil {
		return a, failure.New(failure.StateCorrupt, "%s is no artifact: %w", d.Abs(ref.Path), err)
	}
	return a, nil
}

// Parse reads an artifact with its envelope; one without is version 1.0 of nobody's. A version that is none, or whose
// first number is 0, is an error. The text is not kept.
func Parse(text []byte) (Artifact, error) {
	v, faults := value(text)
	if len(faults) > 0 {
		return Artifact{}, fmt.Errorf("%s", strings.TrimSpace(lines(faults)))
	}
	data, isMap := v.(map[string]any)
	if !isMap {
		return Artifact{}, fmt.Errorf("it is %s, not an object", word(v))
	}
	a := Artifact{Meta: Meta{Version: firstVersion}}
	if err := into(data[metaKey], &a.Meta); err != nil {
		return Artifact{}, fmt.Errorf("read %s: %w", metaKey, err)
	}
	if err := into(data[metadataKey], &a.Metadata); err != nil {
		return Artifact{}, fmt.Errorf("read %s: %w", metadataKey, err)
	}
	if major(a.Meta.Version) == "" {
		return Artifact{}, fmt.Errorf("its version %.40q is none: want a number, or two with a dot", a.Meta.Version)
	}
	a.Data = stripped(data)
	return a, nil
}

func into(v, target any) error {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, target)
}

var version = regexp.MustCompile(`^([1-9][0-9]{0,8})(\.[0-9]{1,9}){0,2}$`)

// major is the first number of a version, "" for what is no version.
func major(v string) string {
	m := version.FindStringSubmatch(v)
	if m == nil {
		return ""
	}
	return m[1]
}

// wanted is the version of a contract, nil for one that says nothing.
func wanted(contract *plan.Artifact) string {
	if contract == nil || contract.Version == "" {
		return firstVersion
	}
	return contract.Version
}

// versionFaults holds the version that an agent wrote against that of the contract.
func versionFaults(said any, contract *plan.Artifact) []schema.Fault {
	want := wanted(contract)
	if text := fmt.Sprint(said); major(text) == major(want) {
		return nil
	}
	return []schema.Fault{{
		Path: "$." + metaKey + ".version", Code: schema.CodeConstraint,
		Message: fmt.Sprintf("must be of the major version of %s, which is the contract's, not %.40q", want, fmt.Sprint(said)),
	}}
}

// Of refuses an artifact of another major version than a contract has.
func (a Artifact) Of(contract *plan.Artifact) error {
	want := wanted(contract)
	if major(a.Meta.Version) != major(want) {
		return failure.New(failure.ResultInvalid, "the artifact of %s has version %s, which is not known here: its contract says %s", a.Meta.StageName, a.Meta.Version, want)
	}
	return nil
}
