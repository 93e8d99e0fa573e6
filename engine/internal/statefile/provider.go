package statefile

import (
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Provider is state.json of a provider in a parallel block. The members of the Bash engine's file come first. Like the
// session's file, it is derived from the journal.
type Provider struct {
	Provider  string `json:"provider"` // as written in the pipeline, or the value of the key as
	Session   string `json:"session"`
	StartedAt string `json:"started_at"`
	Status    string `json:"status"` // pending, running, complete, failed
	// CurrentStage is always 0, as in the Bash engine; CurrentStageName is the id of the current stage.
	CurrentStage       int             `json:"current_stage"`
	Iteration          int             `json:"iteration"` // of the current stage, 0 when all stages are done
	IterationCompleted int             `json:"iteration_completed"`
	Stages             []ProviderStage `json:"stages"` // completed stages
	CurrentStageName   string          `json:"current_stage_name,omitempty"`
	Error              string          `json:"error,omitempty"` // "Exit code 7", else the failure's message
	ErrorType          string          `json:"error_type,omitempty"`
}

// ProviderStage is a stage that a provider has completed.
type ProviderStage struct {
	Name       string `json:"name"`
	Iterations int    `json:"iterations"`
	Reason     string `json:"termination_reason"` // see [state.BranchStage.EndedBy]
}

// provider returns the state file of a block's provider, whether the provider has begun or not.
func provider(st state.State, block *plan.Node, id string) Provider {
	ns := st.Nodes[block.Path]
	b, begun := ns.Branches[id]
	p := Provider{Provider: id, Session: st.Session, StartedAt: stamp(ns.StartedAt), Status: "pending", Stages: []ProviderStage{}}
	if !begun {
		return p
	}
	p.StartedAt, p.Status, p.CurrentStageName = stamp(b.StartedAt), string(b.Status), block.Stages[b.Stage].ID
	for i, done := range b.Done {
		stage := &block.Stages[i]
		p.Stages = append(p.Stages, ProviderStage{stage.ID, done.Iterations, done.EndedBy(stage.Termination.Type())})
	}
	if len(b.Done) < len(block.Stages) {
		p.Iteration, p.IterationCompleted = b.Loop.Iteration, b.Loop.Completed
	}
	if f := b.Loop.Failure; f != nil && b.Status == state.NodeFailed {
		p.Error, p.ErrorType = f.Message, f.ErrorType
		if f.ExitCode != nil {
			p.Error = fmt.Sprintf("Exit code %d", *f.ExitCode)
		}
	}
	return p
}

// branches writes the files of the providers in parallel blocks for a state.
type branches struct {
	dir   *store.Dir
	plan  *plan.Plan
	state state.State
}

// writeFor writes the files of the providers that an event is about: one provider, or all providers of the block that
// the run has reached. A resume is about all providers of all blocks: a file may be missing from the disk after a power
// loss, and a finished block has no further events.
func (w branches) writeFor(e event.Event) error {
	if e.Type == event.SessionResumed || e.Type == event.SessionImported {
		return w.writeAll()
	}
	block := w.plan.Find(w.state.At)
	if block == nil || block.Kind != plan.KindParallel {
		return nil
	}
	switch {
	case e.Type == event.NodeStart:
		return w.writeBlock(block)
	case e.Cursor == nil || e.Cursor.Provider == "" || worth[e.Type] == never:
		return nil
	}
	for i := range block.Providers {
		if id := block.Providers[i].ID(); id == e.Cursor.Provider {
			return w.writeProvider(block, id)
		}
	}
	return nil
}

// writeAll writes the files of the providers of every block that has begun, for the block's newest visit.
func (w branches) writeAll() error {
	var errs []error
	for at, ns := range w.state.Nodes {
		if block := w.plan.Find(at); block != nil && block.Kind == plan.KindParallel && ns.Status != state.NodeSkipped {
			errs = append(errs, w.writeBlock(block))
		}
	}
	return errors.Join(errs...)
}

func (w branches) writeBlock(block *plan.Node) error {
	errs := []error{w.dropManifest(block)}
	for i := range block.Providers {
		errs = append(errs, w.writeProvider(block, block.Providers[i].ID()))
	}
	return errors.Join(errs...)
}

// dropManifest removes a manifest that an earlier run left in the same directory, until the block of this run has a
// manifest.
func (w branches) dropManifest(block *plan.Node) error {
	ns := w.state.Nodes[block.Path]
	if _, written := ns.Artifacts[event.Manifest]; written {
		return nil
	}
	node, err := store.NodeAt(w.plan, event.Location{Node: block.Path, Visit: ns.Visit, Run: ns.Run})
	if err != nil {
		return err
	}
	return w.dir.Remove(node.Manifest())
}

func (w branches) writeProvider(block *plan.Node, id string) error {
	ns := w.state.Nodes[block.Path]
	node, err := store.NodeAt(w.plan, event.Location{Node: block.Path, Visit: ns.Visit, Run: ns.Run, Branch: id})
	if err != nil {
		return err
	}
	text, err := render(provider(w.state, block, id), "")
	if err != nil {
		return fmt.Errorf("render %s: %w", node.State(), err)
	}
	return w.dir.Replace(node.State(), append(text, '\n'))
}
