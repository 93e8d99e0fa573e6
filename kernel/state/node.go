package state

import (
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Node is one node of the plan: the visit it is in, or the last one.
type Node struct {
	Visit     int        `json:"visit"`          // from 1; re-entries through an edge or feedback count it up
	Run       int        `json:"run"`            // from 1; repeats of a nested pipeline, counted on over its visits
	Runs      int        `json:"runs,omitempty"` // of a nested pipeline: how many began in this visit
	Status    NodeStatus `json:"status"`
	Outcome   string     `json:"outcome,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Output    *event.Ref `json:"output,omitempty"` // of the last iteration
	// Loop is the iteration loop of a stage node. Branches and Steps hold one loop each for the
	// providers of a parallel block and the items of a node's steps.
	Loop     Loop              `json:"loop"`
	Branches map[string]Branch `json:"branches,omitempty"`
	Steps    map[string]Step   `json:"steps,omitempty"`
	// Order are the ids of the steps in the order in which they are made; nil before they are known.
	Order []string `json:"order,omitempty"`
	// Gate is the node's own hook point, stage_start or stage_end, that the run is at or passed last.
	Gate HookCursor `json:"gate,omitzero"`
	// Failure is why a check at its end has failed the node; nil otherwise.
	Failure *event.FailureData `json:"failure,omitempty"`
	// Restart is set while the node is to be entered anew, as soon as nothing of it is under way.
	Restart *Restart `json:"restart,omitempty"`
	// Injected are texts of hooks for the prompts of this visit. The first Carried of them came with the entry,
	// and stay when the node begins anew.
	Injected []event.Ref `json:"injected,omitempty"`
	Carried  int         `json:"carried,omitempty"`
	// StageAttempt counts the stage retries of this visit.
	StageAttempt int `json:"stage_attempt,omitempty"`
	// Artifacts are the newest artifacts of the node by name.
	Artifacts map[string]event.Ref `json:"artifacts,omitempty"`
	// Feedback is why the node was entered again, for all prompts of this visit, and Cause the bare reason where there
	// is none; FailedSteps are the steps that are to be made again for it.
	Feedback    *event.Ref `json:"feedback,omitempty"`
	FailedSteps []string   `json:"failed_steps,omitempty"`
	Cause       string     `json:"cause,omitempty"`
	// Granted: a person allowed the edge that the node leaves by once more than its limit.
	Granted bool `json:"granted,omitempty"`
	// Escalations counts how often a person let the node begin anew that it needed, since it was entered by an edge.
	Escalations int `json:"escalations,omitempty"`
	// Rejected: a person rejected what the visit before came to, and said why.
	Rejected bool `json:"rejected,omitempty"`
	// From is the path of the node that the run came from, "" where it began with this one.
	From string `json:"from,omitempty"`
	// Inspect is set while the input artifact is still to be looked at. Warnings is what was found about it, Unfit why the
	// node cannot begin with it, nil if it can, and Skip why the node is skipped.
	Inspect  bool               `json:"inspect,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
	Unfit    *event.FailureData `json:"unfit,omitempty"`
	Skip     string             `json:"skip,omitempty"`
	// Input is what the pipeline that the node embeds starts with, nil where there is nothing.
	Input *event.Ref `json:"input,omitempty"`
}

// NodeStatus is the condition of a node.
type NodeStatus string

// The conditions of a node that was entered.
const (
	NodeRunning  NodeStatus = "running"
	NodeComplete NodeStatus = "complete"
	NodeFailed   NodeStatus = "failed"
	NodeSkipped  NodeStatus = "skipped"
)

// Branch is one provider of a parallel block: the stage it is at and that stage's loop.
type Branch struct {
	Stage     int        `json:"stage"` // its position in the block; that of the last one when all are done
	Status    NodeStatus `json:"status"`
	StartedAt time.Time  `json:"started_at"`
	Loop      Loop       `json:"loop"`
	// Gate is the provider's own hook point, Injected are texts of hooks for its prompts in the block.
	Gate     HookCursor  `json:"gate,omitzero"`
	Injected []event.Ref `json:"injected,omitempty"`
	// Done are the stages that ended well, in order.
	Done []BranchStage `json:"done,omitempty"`
}

// BranchStage is how a provider's stage ended.
type BranchStage struct {
	Iterations int    `json:"iterations"`
	Reason     string `json:"reason,omitempty"`
}

// EndedBy is the Bash engine's word for how the stage ended, given the type of its termination: "fixed",
// "plateau" for a judgment, "max_iterations", or the type of another strategy.
func (b BranchStage) EndedBy(strategy string) string {
	switch {
	case b.Reason == "max_iterations":
		return b.Reason
	case strategy == "judgment":
		return "plateau"
	default:
		return strategy
	}
}

// Step is one item of a node's steps.
type Step struct {
	Status StepStatus `json:"status"`
	event.StepData
	Loop Loop `json:"loop,omitzero"` // while it is in work, and of one that failed
	// Last is the number of its last iteration, so that no stage retry uses one again.
	Last   int    `json:"last,omitempty"`
	Reason string `json:"reason,omitempty"` // why it failed, is blocked or was skipped
	// Output is what its agent said last, in whichever visit.
	Output *event.Ref `json:"output,omitempty"`
}

// StepStatus is the condition of a step.
type StepStatus string

// The conditions of steps.
const (
	StepPending  StepStatus = "pending"
	StepRunning  StepStatus = "running"
	StepComplete StepStatus = "complete"
	StepFailed   StepStatus = "failed"
	StepBlocked  StepStatus = "blocked" // a step that it depends on failed
	StepSkipped  StepStatus = "skipped" // a person said to go on without it
)

// Done reports whether what depends on the step may be made.
func (s StepStatus) Done() bool { return s == StepComplete || s == StepSkipped }

func (n Node) clone() Node {
	n.Loop = n.Loop.clone()
	n.Branches = cloneMap(n.Branches, func(b Branch) Branch {
		b.Loop, b.Done, b.Injected = b.Loop.clone(), slices.Clone(b.Done), slices.Clone(b.Injected)
		return b
	})
	n.Steps = cloneMap(n.Steps, func(s Step) Step { s.Loop = s.Loop.clone(); return s })
	n.Injected, n.Warnings = slices.Clone(n.Injected), slices.Clone(n.Warnings)
	n.Artifacts = cloneMap(n.Artifacts, func(r event.Ref) event.Ref { return r })
	return n
}

// Gate is a hook point: how far the calling of its hooks has come. The hooks that apply are called one after
// the other, in the order of their numbers.
type HookCursor struct {
	Point     string `json:"point,omitempty"`
	Iteration int    `json:"iteration,omitempty"` // at the points of iterations
	// Round counts how often the node, or the provider, began again in the same place: after a failure, or what it was given.
	// A hook of an earlier round that is called still does not answer for one of a later round.
	Round int `json:"round,omitempty"`
	// Done is the number of the last hook that has answered or was skipped, Firing that of the one whose
	// action is under way; 0: none.
	Done   int `json:"done,omitempty"`
	Firing int `json:"firing,omitempty"`
}

// Restart is what a hook asked for that wants its stage to begin anew.
type Restart struct {
	Reason string `json:"reason,omitempty"`
	// Granted: a person allowed it beyond the limit.
	Granted bool `json:"granted,omitempty"`
	// Rejected: a person wants it, because of what the visit came to.
	Rejected bool `json:"rejected,omitempty"`
}
