package session

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ResumeOptions selects the session to resume and changes its run.
type ResumeOptions struct {
	Session string
	// Runs repeats the number of runs given at the start; a number that differs from the session's is refused. 0 stands
	// for no number.
	Runs int
	// Context is added to the agent's next prompts.
	Context string
	// SkipFailedStep treats failed steps as done, so that dependent steps run. Without a failed step it is
	// [ErrOptions].
	SkipFailedStep bool
	// ResetCycles resets the counts of all cycles.
	ResetCycles bool
	// Rerun is the id of a node of the pipeline itself to rerun, as a new visit with its previous feedback:
	// the node where the session paused or, with Reopen, any node that ran in a completed session. The run
	// continues by the pipeline's edges. A node that cannot be rerun is [ErrOptions].
	Rerun  string
	Reopen bool
	// By names the user or program that resumes, for the journal.
	By string
	// Force resumes a session that another kernel holds, and extends an exhausted time limit once.
	Force bool
	// Wait works as in [source.RunOptions].
	Wait bool
	// Sandbox narrows the session's isolation until the resumed run ends; its paths are granted in addition.
	Sandbox *plan.Sandbox
	// Notes works as in [source.RunOptions].
	Notes []event.Event
	// Observe works as in [source.RunOptions].
	Observe func(inspect.Update) `json:"-"`
}

// Hooks are the hooks of the program that runs the session.
type Hooks struct {
	Callbacks []hook.Callback
	Resume    []ResumeHook
}

// ResumeHook is called with a copy of the session's state and the text of a resume.
type ResumeHook func(ctx context.Context, st state.State, text string) sdk.HookAnswer
