package artifact

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Validate decodes an artifact that the user supplies: YAML or JSON, with or without an envelope. The faults are the
// reasons why it is not an object or violates the contract, nil for none. The error is about the contract.
func Validate(text []byte, contract *plan.Artifact) (map[string]any, []schema.Fault, error) {
	data, faults := parseObject(text, int64(len(text)))
	if len(faults) > 0 {
		return nil, faults, nil
	}
	meta, _ := data[metaKey].(map[string]any)
	version := meta["version"] // an agent's envelope is ignored, but a supplied file may come from another run
	data = stripEnvelope(data)
	if contract == nil {
		return data, nil, nil
	}
	if version != nil {
		faults = versionFaults(version, contract)
	}
	if artifactType, has := meta["artifact_type"].(string); has && contract.Type != "" && artifactType != contract.Type {
		faults = append(faults, schema.Fault{
			Path: "$." + metaKey + ".artifact_type", Code: schema.CodeEnum, Message: fmt.Sprintf("must be %s, not %.80q: it is another artifact", contract.Type, artifactType),
		})
	}
	if len(faults) > 0 {
		return data, faults, nil
	}
	faults, err := Faults(data, contract)
	return data, faults, err
}

// StartMeta returns the envelope's head for the start artifact of a run, or of a pipeline in it.
func StartMeta(created time.Time) Meta {
	return Meta{StageName: plan.RequiresStart, ArtifactType: "request", Version: firstVersion, CreatedAt: created.UTC().Truncate(time.Second)}
}

// WriteStart stores the run's start artifact.
func WriteStart(d *store.Dir, a Artifact) (event.Ref, error) { return a.write(d, store.InputArtifact) }

// WriteSupplied stores an artifact that the user supplies for the node at path, as the artifact of visit 0 and as the
// node's newest artifact.
func WriteSupplied(d *store.Dir, p *plan.Plan, path string, a Artifact) (event.Ref, error) {
	supplied, newest, err := store.InitialArtifact(p, path)
	if err != nil {
		return event.Ref{}, err
	}
	return a.write(d, supplied, newest)
}

// WriteMeasured stores an artifact with fields that the hook with a number measured, in a file of its own and as the node's
// newest artifact. The accepted artifact stays as the journal has it.
func WriteMeasured(d *store.Dir, p *plan.Plan, at event.Location, hook int, a Artifact) (event.Ref, error) {
	visit, newest, err := store.ArtifactFiles(p, at)
	if err != nil {
		return event.Ref{}, err
	}
	return a.write(d, fmt.Sprintf("%s.hook-%d.yaml", strings.TrimSuffix(visit, ".yaml"), hook), newest)
}

// WriteEmbedded stores the start artifact of the pipeline that the node embeds.
func WriteEmbedded(d *store.Dir, p *plan.Plan, at event.Location, a Artifact) (event.Ref, error) {
	name, err := store.EmbeddedInput(p, at)
	if err != nil {
		return event.Ref{}, err
	}
	return a.write(d, name)
}

// write stores the artifact in a file, which the reference names, and in copies for the user.
func (a Artifact) write(d *store.Dir, name string, copies ...string) (event.Ref, error) {
	text, err := a.Render()
	if err != nil {
		return event.Ref{}, err
	}
	if len(text) > maxStored {
		return event.Ref{}, failure.New(failure.ResultInvalid, "the artifact of %s has %d bytes with its carried fields, more than the limit of %d", a.Meta.StageName, len(text), maxStored)
	}
	ref, err := d.Write(name, text)
	if err != nil {
		return event.Ref{}, err
	}
	for _, other := range copies {
		if err := d.Replace(other, text); err != nil {
			return ref, err
		}
	}
	return ref, nil
}

// Write stores an artifact of the node at a location as the artifact of the visit, which the reference names. It also
// writes a copy for the user as the node's newest artifact.
func Write(d *store.Dir, p *plan.Plan, at event.Location, a Artifact) (event.Ref, error) {
	visit, newest, err := store.ArtifactFiles(p, at)
	if err != nil {
		return event.Ref{}, err
	}
	return a.write(d, visit, newest)
}
