package inspect

import (
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Update is one change in a session.
type Update struct {
	Session string
	// Missed is the number of updates that a subscription dropped just before this one. Such an update may
	// hold nothing else; its Session is then that of the subscription, "" for all. Observers miss nothing.
	Missed int
	// Event is a journaled event and State the state after it; nil for a report, warnings or a gap.
	Event *event.Event
	State *state.State
	// Report is an agent's progress report; it is not journaled.
	Report *Report
	// Warnings holds the warnings of settings and compiler, sent once before the first event of a run or resume and
	// repeated in its [Result]. Later it holds the faults of an invalid resolution file. Such an update has no Event.
	Warnings yamldoc.Diagnostics
	// Plan is the session's plan, Dir the absolute path of its directory.
	Plan *plan.Plan
	Dir  string
}

// Report is an agent's progress report.
type Report = exchange.Report

// Result describes how a run ended or why it paused.
type Result struct {
	Session string `json:"session"`
	RunID   string `json:"run_id"`
	// Success reports that the run completed without merely reaching its iteration limit.
	Success bool         `json:"success"`
	Status  state.Status `json:"status"`
	// Mode is loop or pipeline.
	Mode string `json:"mode"`
	// Reason is the reason of the completion, pause or abort.
	Reason    string          `json:"reason,omitempty"`
	PauseKind state.PauseKind `json:"pause_kind,omitempty"`
	PauseCode string          `json:"pause_code,omitempty"` // of an escalation
	// Failure is the error of a failed run, else nil.
	Failure *event.FailureData `json:"error,omitempty"`
	// Completed lists the ids of the completed nodes, in order, in the last run of the pipeline.
	Completed []string `json:"stages_completed"`
	// Stages holds the result of every node, in plan order.
	Stages []StageResult `json:"stages"`
	// Run is the current or last run of the whole pipeline, Runs their number; both 0 if it runs once.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// Deliverable is the artifact that a completed run delivers, nil for none.
	Deliverable *Deliverable `json:"deliverable,omitempty"`
	// Dir is the absolute path of the session's directory.
	Dir string `json:"dir"`
	// Usage sums the usage of all provider calls of the session, including failed attempts.
	Usage    event.Usage   `json:"usage"`
	Duration time.Duration `json:"duration_ns"` // of this run or resume
	// ResumeCommand resumes the session, "" if it cannot be resumed.
	ResumeCommand string `json:"resume_command,omitempty"`
	// Questions holds the questions that the session waits for.
	Questions []Question `json:"questions,omitempty"`
	// Warnings holds the warnings about the settings and those of the compiler.
	Warnings yamldoc.Diagnostics `json:"warnings,omitempty"`
	// Secrets lists secrets found in files that agents wrote in this run or resume. The files are not
	// changed.
	Secrets []event.SecretFoundData `json:"secrets_found,omitempty"`
}

// Deliverable is the artifact that a run delivers. It is the artifact of the last node, in the pipeline's order, that
// has an artifact and succeeded or was skipped.
type Deliverable struct {
	Stage    string `json:"stage"`          // the node's id
	Path     string `json:"path"`           // path in the plan
	Artifact string `json:"artifact"`       // absolute path of the file, with its envelope
	Type     string `json:"type,omitempty"` // of the artifact, from its contract
}

// NewDeliverable returns the artifact that a completed run delivers, nil for none. dir is the session's
// directory.
func NewDeliverable(p *plan.Plan, st state.State, dir string) *Deliverable {
	if st.Status != state.Completed {
		return nil
	}
	path, ref, has := progress.Deliverable(p, st, "")
	n := p.Find(path)
	if !has || n == nil {
		return nil
	}
	d := &Deliverable{Stage: n.ID, Path: path, Artifact: filepath.Join(dir, ref.Path)}
	if n.Artifact != nil {
		d.Type = n.Artifact.Type
	}
	return d
}
