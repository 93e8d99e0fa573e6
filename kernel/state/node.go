package state

import (
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Node is the current or last visit of a node of the plan.
type Node struct {
	NodeProgress
	NodeLoops
	// HookCursor is the cursor of the node's current or last hook point, stage_start or stage_end.
	HookCursor HookCursor `json:"gate,omitzero"`
	// Failure is the failure of a stage_end hook's check, which failed the node; nil if there is none.
	Failure *event.FailureData `json:"failure,omitempty"`
	// Restart is the request to enter the node again once none of its effects is in flight; nil if there is none.
	Restart *Restart `json:"restart,omitempty"`
	// Injected are texts of hooks for the prompts of this visit. The first Carried of them came with the entry and
	// are kept when the node restarts.
	Injected []event.Ref `json:"injected,omitempty"`
	Carried  int         `json:"carried,omitempty"`
	// StageAttempt counts the stage retries of this visit.
	StageAttempt int `json:"stage_attempt,omitempty"`
	// Artifacts are the latest artifacts of the node by name.
	Artifacts map[string]event.Ref `json:"artifacts,omitempty"`
	Entry
	InputCheck
}

// NodeProgress is the status of a visit, with its numbers and times.
type NodeProgress struct {
	Visit     int        `json:"visit"`          // from 1; incremented by re-entries through an edge or feedback
	Run       int        `json:"run"`            // from 1; runs of a nested pipeline, counted across its visits
	Runs      int        `json:"runs,omitempty"` // of a nested pipeline: runs begun in this visit
	Status    NodeStatus `json:"status"`
	Outcome   string     `json:"outcome,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Output    *event.Ref `json:"output,omitempty"` // of the last iteration
}

// NodeLoops are the iteration loops of a node.
type NodeLoops struct {
	// Loop is the iteration loop of a stage node. Branches and Steps hold one loop each for the providers of a
	// parallel block and the items of a node's steps.
	Loop     Loop              `json:"loop"`
	Branches map[string]Branch `json:"branches,omitempty"`
	Steps    map[string]Step   `json:"steps,omitempty"`
	// Order are the ids of the steps in execution order; nil before they are known.
	Order []string `json:"order,omitempty"`
}

// Entry holds the reason and the origin of a node's entry, and the user's approvals for the node.
type Entry struct {
	// Feedback is the reason for entering the node again, for all prompts of this visit. Cause is the bare reason if
	// there is no feedback. FailedSteps are the steps to repeat because of the feedback.
	Feedback    *event.Ref `json:"feedback,omitempty"`
	FailedSteps []string   `json:"failed_steps,omitempty"`
	Cause       string     `json:"cause,omitempty"`
	// Approved is true if the user allowed the node's outgoing edge once beyond its limit.
	Approved bool `json:"granted,omitempty"`
	// Escalations counts how often the user restarted the node after an escalation since it was entered by an edge.
	Escalations int `json:"escalations,omitempty"`
	// Rejected is true if the user rejected the result of the previous visit with a reason.
	Rejected bool `json:"rejected,omitempty"`
	// From is the path of the node that the run came from, "" if the run began with this node.
	From string `json:"from,omitempty"`
}

// InputCheck is the inspection of the node's input artifact.
type InputCheck struct {
	// Inspect is set while the input artifact must still be inspected. Warnings are the findings of the inspection.
	// InputFailure is the reason why the node cannot begin with the artifact (nil if it can), Skip the reason why the
	// node is skipped.
	Inspect      bool               `json:"inspect,omitempty"`
	Warnings     []string           `json:"warnings,omitempty"`
	InputFailure *event.FailureData `json:"unfit,omitempty"`
	Skip         string             `json:"skip,omitempty"`
	// Input is the input of the pipeline that the node embeds, nil if there is none.
	Input *event.Ref `json:"input,omitempty"`
}

// NodeStatus is the status of a node.
type NodeStatus string

// The statuses of a node that was entered.
const (
	NodeRunning  NodeStatus = "running"
	NodeComplete NodeStatus = "complete"
	NodeFailed   NodeStatus = "failed"
	NodeSkipped  NodeStatus = "skipped"
)

// Branch is one provider of a parallel block: its current stage and that stage's loop.
type Branch struct {
	Stage     int        `json:"stage"` // position in the block, from 0; the last stage when all are done
	Status    NodeStatus `json:"status"`
	StartedAt time.Time  `json:"started_at"`
	Loop      Loop       `json:"loop"`
	Hooks                // of the provider's own points, with the texts for its prompts in the block
	// Done are the stages that ended with success, in order.
	Done []BranchStage `json:"done,omitempty"`
}

// BranchStage is a finished stage of a provider.
type BranchStage struct {
	Iterations int    `json:"iterations"`
	Reason     string `json:"reason,omitempty"`
}

// EndedBy returns the Bash engine's name for the end of a stage with the strategy. It is "max_iterations", "plateau"
// for a judgment, or the type of the strategy.
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

// EndedSuccessfully reports whether the node has ended with success or was skipped, so that exit_after may complete the
// pipeline.
func (n Node) EndedSuccessfully() bool {
	ended := n.Status == NodeComplete || n.Status == NodeSkipped
	return ended && (n.Outcome == string(plan.OutcomeSuccess) || n.Outcome == string(plan.OutcomeSkip))
}

// SetArtifact stores an artifact of the node under a name.
func (n *Node) SetArtifact(name string, ref event.Ref) {
	if n.Artifacts == nil {
		n.Artifacts = map[string]event.Ref{}
	}
	n.Artifacts[name] = ref
}

func (n Node) clone() Node {
	n.Loop = n.Loop.clone()
	n.Branches = cloneMap(n.Branches, func(b Branch) Branch {
		b.Loop, b.Done, b.Injected = b.Loop.clone(), slices.Clone(b.Done), slices.Clone(b.Injected)
		return b
	})
	n.Steps = cloneMap(n.Steps, func(s Step) Step { s.Loop = s.Loop.clone(); return s })
	n.Injected, n.Warnings = slices.Clone(n.Injected), slices.Clone(n.Warnings)
	n.Artifacts = maps.Clone(n.Artifacts)
	return n
}

// Restart is the request of a hook or the user to restart a stage.
type Restart struct {
	Reason string `json:"reason,omitempty"`
	// Approved is true if the user allowed the restart beyond the limit.
	Approved bool `json:"granted,omitempty"`
	// Rejected is true if the user requested the restart because of the visit's result.
	Rejected bool `json:"rejected,omitempty"`
}

func cloneMap[K comparable, V any](m map[K]V, clone func(V) V) map[K]V {
	if m == nil {
		return nil
	}
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = clone(v)
	}
	return out
}

// Step is one item of a node's steps.
type Step struct {
	Status StepStatus `json:"status"`
	event.StepData
	Loop Loop `json:"loop,omitzero"` // while it is running, and after it failed
	// Last is the number of the step's last iteration, so that no stage retry reuses a number.
	Last   int    `json:"last,omitempty"`
	Reason string `json:"reason,omitempty"` // why it failed, is blocked or was skipped
	// Output is the last output of its agent in any visit.
	Output *event.Ref `json:"output,omitempty"`
}

// StepStatus is the status of a step.
type StepStatus string

// The statuses of steps.
const (
	StepPending  StepStatus = "pending"
	StepRunning  StepStatus = "running"
	StepComplete StepStatus = "complete"
	StepFailed   StepStatus = "failed"
	StepBlocked  StepStatus = "blocked" // a dependency failed
	StepSkipped  StepStatus = "skipped" // the user resumed without it
)

// Done reports whether steps that depend on this one may begin.
func (s StepStatus) Done() bool { return s == StepComplete || s == StepSkipped }
