package outcome

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
)

// writeInput writes the input of the pipeline that the node embeds, or of the target that it wraps (REQUIREMENTS U027):
// the effective input or its mapped fields. It returns nil for other nodes.
func (w *evaluation) writeInput(input artifact.NodeInput) (*event.Ref, error) {
	if w.Node.Wraps == nil && w.Node.Plan == nil {
		return nil, nil //nolint:nilnil // no input is no error
	}
	data := input.Data
	if w.Node.Wraps != nil {
		var err error
		if data, err = artifact.Inputs(w.Node.Wraps, data, w.userRequest()); err != nil {
			return nil, err
		}
	}
	redaction.Data(w.Redactor.ForAgent(), data)
	ref, err := artifact.WriteEmbedded(w.Dir, w.Plan, w.at, artifact.Artifact{
		Meta: artifact.StartMeta(time.Now()), Data: data, Metadata: artifact.Metadata{PipelineID: w.State.RunID},
	})
	return &ref, err
}

// userRequest returns the run's context override, "" for none.
func (w *evaluation) userRequest() string {
	if o := w.Plan.Pipeline.Overrides; o != nil {
		return o.Context
	}
	return ""
}

// mapOutputs returns the artifact's data for the outputs of the target that the node wraps. If the node wraps none, it
// returns the outputs.
func (w *evaluation) mapOutputs(outputs map[string]any) (map[string]any, error) {
	if w.Node.Wraps == nil {
		return outputs, nil
	}
	in, has := artifact.FindInput(w.Plan, w.State, w.Node, w.at)
	if !has {
		return artifact.Outputs(w.Node.Wraps, nil, outputs), nil
	}
	input, err := in.Load(w.Dir)
	if err != nil {
		return nil, err
	}
	return artifact.Outputs(w.Node.Wraps, input.Data, outputs), nil
}

// completePipelineNode writes the artifact of a node that wraps a pipeline and returns artifact_written or error.
func (w *evaluation) completePipelineNode() event.Event {
	ref, err := w.writePipelineArtifact()
	if err != nil {
		return w.Event(event.Error, w.failureData(err))
	}
	return w.Event(event.ArtifactWritten, event.ArtifactWrittenData{Name: event.Artifact, Ref: ref})
}

func (w *evaluation) writePipelineArtifact() (event.Ref, error) {
	outputs, err := w.pipelineOutput()
	if err != nil {
		return event.Ref{}, err
	}
	data, err := w.mapOutputs(outputs)
	if err != nil {
		return event.Ref{}, err
	}
	if err := w.validateArtifact(data); err != nil {
		return event.Ref{}, err
	}
	ns := w.State.Nodes[w.at.Outer()]
	return artifact.Write(w.Dir, w.Plan, w.at, artifact.Artifact{
		Meta: artifact.NewMeta(w.Node, time.Now()), Data: data,
		Metadata: artifact.Metadata{PipelineID: w.State.RunID, DurationSeconds: time.Since(ns.StartedAt).Seconds(), Warnings: ns.Warnings},
	})
}

// pipelineOutput returns the fields of the pipeline's last artifact, none if it has no artifact.
func (w *evaluation) pipelineOutput() (map[string]any, error) {
	_, ref, has := progress.Deliverable(w.Plan, w.State, w.at.Outer())
	if !has {
		return map[string]any{}, nil
	}
	a, err := artifact.Load(w.Dir, ref)
	return a.Data, err
}

// validateArtifact completes data by the node's contract and returns its faults as an error.
func (w *evaluation) validateArtifact(data map[string]any) error {
	if w.Node.Artifact == nil {
		return nil
	}
	if err := w.completeArtifact(data); err != nil {
		return err
	}
	faults, err := artifact.Faults(data, w.Node.Artifact)
	if err == nil && len(faults) > 0 {
		err = artifact.InvalidError("the output of pipeline "+w.Node.Ref, faults)
	}
	return err
}

// completeArtifact redacts the agent's data and adds the carried fields. It changes data.
func (w *evaluation) completeArtifact(data map[string]any) error {
	redaction.Data(w.Redactor.ForAgent(), data)
	if len(w.Node.Artifact.Carry) == 0 {
		return nil
	}
	input, err := artifact.ReadNodeInput(w.Dir, w.Plan, w.State, w.Node, w.at)
	if err == nil {
		artifact.Carry(data, input.Data, w.Node.Artifact)
	}
	return err
}
