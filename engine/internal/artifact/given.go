package artifact

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Given reads an artifact that a person hands to a run: YAML or JSON, with its envelope or without. The faults say what
// is wrong with it: that it is no object, or not what the contract says, nil for none; the error is about the contract.
func Validate(text []byte, contract *plan.Artifact) (map[string]any, []schema.Fault, error) {
	v, faults := value(text)
	if len(faults) > 0 {
		return nil, faults, nil
	}
	data, isMap := v.(map[string]any)
	if !isMap {
		return nil, []schema.Fault{{Path: "$", Code: schema.CodeType, Message: "must be an object, not " + word(v)}}, nil
	}
	meta, _ := data[metaKey].(map[string]any)
	version := meta["version"] // what an agent writes there is left out, but a file may be another run's
	data = stripped(data)
	if contract == nil {
		return data, nil, nil
	}
	if version != nil {
		faults = versionFaults(version, contract)
	}
	if of, says := meta["artifact_type"].(string); says && contract.Type != "" && of != contract.Type {
		faults = append(faults, schema.Fault{
			Path: "$." + metaKey + ".artifact_type", Code: schema.CodeEnum, Message: fmt.Sprintf("must be %s, not %.80q: it is another artifact", contract.Type, of),
		})
	}
	if len(faults) > 0 {
		return data, faults, nil
	}
	faults, err := Faults(data, contract)
	return data, faults, err
}

// StartMeta is the envelope's head of what a run, or a pipeline in it, begins with.
func StartMeta(created time.Time) Meta {
	return Meta{StageName: plan.RequiresStart, ArtifactType: "request", Version: firstVersion, CreatedAt: created.UTC().Truncate(time.Second)}
}

// WriteStart keeps what the run begins with.
func WriteStart(d *store.Dir, a Artifact) (event.Ref, error) { return a.keep(d, store.StartArtifact) }

// WriteGiven keeps an artifact that the run is given in the place of the node's at path, as [Write] keeps one that the node
// makes.
func WriteGiven(d *store.Dir, p *plan.Plan, path string, a Artifact) (event.Ref, error) {
	given, newest, err := store.GivenArtifact(p, path)
	if err != nil {
		return event.Ref{}, err
	}
	return a.keep(d, given, newest)
}

// WriteEmbedded keeps what the pipeline begins with that the node at the place embeds.
func WriteEmbedded(d *store.Dir, p *plan.Plan, at event.Location, a Artifact) (event.Ref, error) {
	name, err := store.EmbeddedInput(p, at)
	if err != nil {
		return event.Ref{}, err
	}
	return a.keep(d, name)
}

// keep writes the artifact to a file, which the reference names, and to copies of it for people.
func (a Artifact) keep(d *store.Dir, name string, copies ...string) (event.Ref, error) {
	text, err := a.Render()
	if err != nil {
		return event.Ref{}, err
	}
	if len(text) > maxKept {
		return event.Ref{}, failure.New(failure.ResultInvalid, "the artifact of %s has %d bytes with what is carried over, at most %d are kept", a.Meta.StageName, len(text), maxKept)
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
