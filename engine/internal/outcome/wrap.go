package outcome

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
)

// What a node that wraps or embeds something hands in and out (REQUIREMENTS U027).

// handIn keeps what the node hands to the pipeline that it embeds, or to what it wraps, nil for other nodes: its effective
// input, or what is mapped of that.
func (w *work) handIn(input artifact.Effective) (*event.Ref, error) {
	if w.Node.Wraps == nil && w.Node.Plan == nil {
		return nil, nil //nolint:nilnil // nothing to hand in is no error
	}
	data := input.Data
	if w.Node.Wraps != nil {
		var err error
		if data, err = artifact.Inputs(w.Node.Wraps, data, w.userRequest()); err != nil {
			return nil, err
		}
	}
	redaction.Data(w.Redactor.Agent(), data)
	ref, err := artifact.WriteEmbedded(w.Dir, w.Plan, w.at, artifact.Artifact{
		Meta: artifact.StartMeta(time.Now()), Data: data, Metadata: artifact.Metadata{PipelineID: w.State.RunID},
	})
	return &ref, err
}

// userRequest is what whoever started the run said, "" for nothing.
func (w *work) userRequest() string {
	if o := w.Plan.Pipeline.Overrides; o != nil {
		return o.Context
	}
	return ""
}

// mapped is the artifact that comes of what was handed out; of a node that wraps nothing it is just that.
func (w *work) mapped(outputs map[string]any) (map[string]any, error) {
	if w.Node.Wraps == nil {
		return outputs, nil
	}
	in, has := artifact.InputOf(w.Plan, w.State, w.Node, w.at)
	if !has {
		return artifact.Outputs(w.Node.Wraps, nil, outputs), nil
	}
	given, err := in.Load(w.Dir)
	if err != nil {
		return nil, err
	}
	return artifact.Outputs(w.Node.Wraps, given.Data, outputs), nil
}

// handOut makes what the wrapped pipeline came to the artifact of the node: artifact_written, or error.
func (w *work) handOut() event.Event {
	ref, err := w.keepHanded()
	if err != nil {
		return event.New(event.Error, w.at.Cursor(), w.Command.Key, w.failureOf(err))
	}
	return event.New(event.ArtifactWritten, w.at.Cursor(), w.Command.Key, event.ArtifactWrittenData{Name: event.Artifact, Ref: ref})
}

func (w *work) keepHanded() (event.Ref, error) {
	outputs, err := w.delivered()
	if err != nil {
		return event.Ref{}, err
	}
	data, err := w.mapped(outputs)
	if err != nil {
		return event.Ref{}, err
	}
	if err := w.promised(data); err != nil {
		return event.Ref{}, err
	}
	ns := w.State.Nodes[w.at.Outer()]
	return artifact.Write(w.Dir, w.Plan, w.at, artifact.Artifact{
		Meta: artifact.MetaOf(w.Node, time.Now()), Data: data,
		Metadata: artifact.Metadata{PipelineID: w.State.RunID, DurationSeconds: time.Since(ns.StartedAt).Seconds(), Warnings: ns.Warnings},
	})
}

// delivered are the fields of what the pipeline came to, none where it came to nothing.
func (w *work) delivered() (map[string]any, error) {
	_, ref, has := schedule.Deliverable(w.Plan, w.State, w.at.Outer())
	if !has {
		return map[string]any{}, nil
	}
	a, err := artifact.Load(w.Dir, ref)
	return a.Data, err
}

// promised completes data by the contract of the node, and says what is wrong with it.
func (w *work) promised(data map[string]any) error {
	if w.Node.Artifact == nil {
		return nil
	}
	if err := w.complete(data); err != nil {
		return err
	}
	faults, err := artifact.Faults(data, w.Node.Artifact)
	if err == nil && len(faults) > 0 {
		err = artifact.InvalidError("what pipeline "+w.Node.Ref+" came to", faults)
	}
	return err
}
