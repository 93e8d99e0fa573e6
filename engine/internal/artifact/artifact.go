package artifact

import (
	"cmp"
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

// Artifact is a stored artifact.
type Artifact struct {
	Meta     Meta
	Data     map[string]any // of the node, with its measured fields
	Metadata Metadata
}

// Meta identifies the artifact.
type Meta struct {
	StageName    string    `json:"stage_name"` // the node's id
	ArtifactType string    `json:"artifact_type"`
	Version      string    `json:"version"` // of the contract, "1.0" by default
	CreatedAt    time.Time `json:"created_at"`
}

// Metadata describes the iteration that made the artifact.
type Metadata struct {
	PipelineID      string  `json:"pipeline_id"` // the run
	Iteration       int     `json:"iteration"`
	TokensUsed      int64   `json:"tokens_used"` // input and output, 0 if unknown
	DurationSeconds float64 `json:"duration_seconds"`
	// Warnings are about the node's input artifact.
	Warnings []string `json:"warnings,omitempty"`
}

// firstVersion is the version of an artifact without a version, in its contract or its envelope.
const firstVersion = "1.0"

// NewMeta returns the envelope's head for a node's artifact.
func NewMeta(n *plan.Node, created time.Time) Meta {
	m := Meta{StageName: n.ID, ArtifactType: "generic", Version: contractVersion(n.Artifact), CreatedAt: created.UTC().Truncate(time.Second)}
	if n.Artifact != nil {
		m.ArtifactType = cmp.Or(n.Artifact.Type, m.ArtifactType)
	}
	return m
}

// toPlain converts a struct to plain data: maps, lists and scalars.
func toPlain(v any) any {
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

// maxStored bounds a stored artifact in bytes: the envelope, carried fields and rendering make it larger than the
// agent's text.
const maxStored = 4 * plan.MaxMaxBytes

// Load reads the artifact of a reference. The error has kind tampered if the file differs from the reference, and
// state_corrupt if it is not an artifact.
func Load(d *store.Dir, ref event.Ref) (Artifact, error) {
	if ref.Size > maxStored {
		return Artifact{}, failure.New(failure.StateCorrupt, "%s has %d bytes, more than the limit of %d", d.Abs(ref.Path), ref.Size, maxStored)
	}
	text, err := d.ReadRef(ref)
	if err != nil {
		return Artifact{}, err
	}
	a, err := Parse(text)
	if err != nil {
		return a, failure.New(failure.StateCorrupt, "%s is not an artifact: %w", d.Abs(ref.Path), err)
	}
	return a, nil
}

// Parse decodes an artifact with its envelope; without an envelope its version is 1.0. A malformed version, or one
// whose first number is 0, is an error. The text is not retained.
func Parse(text []byte) (Artifact, error) {
	v, faults := decodeText(text)
	if len(faults) > 0 {
		return Artifact{}, fmt.Errorf("%s", strings.TrimSpace(faultLines(faults)))
	}
	data, isMap := v.(map[string]any)
	if !isMap {
		return Artifact{}, fmt.Errorf("it is %s, not an object", kindName(v))
	}
	a := Artifact{Meta: Meta{Version: firstVersion}}
	if err := decodeInto(data[metaKey], &a.Meta); err != nil {
		return Artifact{}, fmt.Errorf("read %s: %w", metaKey, err)
	}
	if err := decodeInto(data[metadataKey], &a.Metadata); err != nil {
		return Artifact{}, fmt.Errorf("read %s: %w", metadataKey, err)
	}
	if major(a.Meta.Version) == "" {
		return Artifact{}, fmt.Errorf("invalid version %.40q: want a number, or two with a dot", a.Meta.Version)
	}
	a.Data = stripEnvelope(data)
	return a, nil
}

func decodeInto(v, target any) error {
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

// major returns the first number of a version, "" for a malformed one.
func major(v string) string {
	m := version.FindStringSubmatch(v)
	if m == nil {
		return ""
	}
	return m[1]
}

// contractVersion returns the version of a contract, [firstVersion] by default.
func contractVersion(contract *plan.Artifact) string {
	if contract == nil || contract.Version == "" {
		return firstVersion
	}
	return contract.Version
}

// versionFaults returns a fault if the major version in an envelope differs from the contract's.
func versionFaults(version any, contract *plan.Artifact) []schema.Fault {
	want := contractVersion(contract)
	if text := fmt.Sprint(version); major(text) == major(want) {
		return nil
	}
	return []schema.Fault{{
		Path: "$." + metaKey + ".version", Code: schema.CodeConstraint,
		Message: fmt.Sprintf("must be of the major version of %s, which is the contract's, not %.40q", want, fmt.Sprint(version)),
	}}
}

// CheckVersion refuses an artifact of another major version than the contract's.
func (a Artifact) CheckVersion(contract *plan.Artifact) error {
	want := contractVersion(contract)
	if major(a.Meta.Version) != major(want) {
		return failure.New(failure.ResultInvalid, "the artifact of %s has version %s, but its contract has %s", a.Meta.StageName, a.Meta.Version, want)
	}
	return nil
}
