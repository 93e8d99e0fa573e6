package screen

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Renderer renders the updates of a session as lines. The lines of the Bash engine keep their wording, because scripts
// search for them. It is not safe for concurrent use.
type Renderer struct {
	// Verbose adds details for troubleshooting, and the texts of agents.
	Verbose bool

	echoes       echoes
	lastMessages map[string]string // last message by branch

	remedy string // of the last failure
}

// progress returns the progress of an agent if it has changed: "● Turn 2: write_file main.go".
func (n *Renderer) progress(r engine.Report) []string {
	if n.lastMessages == nil {
		n.lastMessages = map[string]string{}
	}
	message, before := r.Progress.Message, n.lastMessages[r.Branch]
	n.lastMessages[r.Branch] = message
	if message == "" || message == before {
		return nil
	}
	if r.Progress.Turn > 0 {
		message = fmt.Sprintf("Turn %d: %s", r.Progress.Turn, message)
	}
	return []string{withBranch(r.Branch, "    ● "+Clean(message))}
}

// Lines returns the lines for an update, none for most updates.
func (n *Renderer) Lines(u engine.Update) []string {
	switch {
	case u.Report != nil && n.Verbose:
		return append(n.echoes.add(u.Report.Branch, u.Report.Text), n.progress(*u.Report)...)
	case u.Event != nil && u.Plan != nil && u.Event.Type == event.BudgetWarning:
		return budgetWarning(u)
	case u.Event == nil || u.State == nil || u.Plan == nil:
		return nil
	}
	at := place{Update: u, verbose: n.Verbose, remedy: &n.remedy}
	if u.Event.Cursor != nil {
		at.node = u.Plan.Find(u.Event.Cursor.NodePath)
	}
	lines, ok := contractLines(at)
	if !ok {
		lines = eventLines(at)
	}
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return append(n.echoes.end(at.branch()), lines...)
}

// events renders the events of all nodes and of the session.
var events = map[event.Type]render{
	event.SessionStart:             sessionHead,
	event.SessionResumed:           sessionResumed,
	event.QuestionAsked:            decoded(questionAsked),
	event.QuestionAnswered:         decoded(questionAnswered),
	event.HookStart:                func(place) []string { return nil }, // the end of a hook has the line
	event.HookComplete:             decoded(hookEnd),
	event.HookTimeout:              decoded(hookEnd),
	event.HookSkipped:              decoded(hookSkipped),
	event.RunStart:                 sessionHead,
	event.KernelStart:              decoded(kernelStarted),
	event.MessageRefused:           decoded(messageRefused),
	event.LateDelivery:             decoded(lateDelivery),
	event.SecretFound:              decoded(secretFound),
	event.NodeStart:                nodeHead,
	event.NodeRunStart:             decoded(runHead),
	event.IterationStart:           iterationHead,
	event.ParallelProviderStart:    func(at place) []string { return []string{"  Started " + at.branch()} },
	event.ParallelProviderComplete: decoded(providerEnded),
	event.ParallelProviderFailed:   decoded(providerEnded),
	event.IterationComplete:        decoded(iterationEnd),
	event.Error:                    decoded(attemptFailed),
	event.Retry:                    decoded(attemptRetried),
	event.Decision:                 decoded(decided),
	event.JudgeStart:               decoded(judgeAsked),
	event.JudgeComplete:            decoded(judgeAnswered),
	event.TimerSet:                 decoded(timerSet),
	event.NodeComplete:             decoded(nodeEnd),
}

// verboseEvents renders the events that only Verbose shows, and not as [Details].
var verboseEvents = map[event.Type]render{event.ToolCall: decoded(toolCalled), event.ToolResult: decoded(toolEnded)}

// eventLines returns the lines for an event of a node without a contract, or of the session.
func eventLines(at place) []string {
	if render, ok := events[at.Event.Type]; ok {
		return render(at)
	}
	if !at.verbose {
		return nil
	}
	if render, ok := verboseEvents[at.Event.Type]; ok {
		return render(at)
	}
	return []string{"  · " + Details(*at.Event)}
}

func sessionHead(at place) []string {
	if at.loop() {
		return loopHead(at)
	}
	var lines []string
	if at.State.Runs > 1 {
		lines = append(Box(fmt.Sprintf("PIPELINE RUN %d of %d", at.State.Run, at.State.Runs)), "")
	}
	return append(append(lines, Box("Pipeline: "+at.Plan.Pipeline.Name, "Session:  "+at.Session)...), "")
}

func loopHead(at place) []string {
	if len(at.Plan.Nodes) == 0 {
		return nil
	}
	n := at.Plan.Nodes[0]
	lines := []string{
		"",
		"  Loop: " + cmp.Or(n.Ref, n.ID),
		"  Session: " + at.Session,
	}
	if limit := n.Termination.Max(); limit > 0 {
		lines = append(lines, fmt.Sprintf("  Max iterations: %d", limit))
	}
	return append(lines, "  Provider: "+NodeProvider(&n), "  Completion: "+n.Termination.Type(), "")
}

// sessionResumed returns where a resumed session continues, and its pending timers.
func sessionResumed(at place) []string {
	n := at.Plan.Find(at.State.At)
	var lines []string
	switch {
	case n == nil:
		lines = []string{fmt.Sprintf("Resuming session '%s'", at.Session) + inRun(at)}
	case n.Kind == plan.KindParallel:
		lines = resumedBlock(at, n)
	case at.loop():
		lines = []string{fmt.Sprintf("Resuming session '%s' from %s", at.Session, nextAction(at.State.Nodes[n.Path].Loop))}
	default:
		lines = []string{fmt.Sprintf("Resuming session '%s' from stage %s, %s", at.Session, n.ID, nextAction(at.State.Nodes[n.Path].Loop)) + inRun(at)}
	}
	return append(lines, pendingTimers(at)...)
}

// nextAction returns the next action of a loop: an iteration, the decision about another iteration, or its end.
func nextAction(l state.Loop) string {
	switch l.Phase {
	case state.PhaseSettled:
		return "its end"
	case state.PhaseDecide, state.PhaseQuestion, state.PhaseAsking:
		if l.Completed > 0 {
			return fmt.Sprintf("the decision after iteration %d", l.Completed)
		}
	}
	return fmt.Sprintf("iteration %d", l.Completed+1)
}

func nodeHead(at place) []string {
	if at.loop() || at.node == nil {
		return nil
	}
	if at.block() {
		return blockHead(at.node)
	}
	nodes, position := at.Plan.Siblings(at.node.Path)
	isPipeline, kind := at.node.Kind == plan.KindPipeline, "Loop"
	if isPipeline {
		kind = "Pipeline"
	}
	lines := []string{fmt.Sprintf("%s %d/%d: %s", kind, position+1, len(nodes), at.node.ID)}
	if at.node.Description != "" {
		lines = append(lines, at.node.Description)
	}
	if isPipeline {
		return append(nodeBox(append(lines, "Runs the pipeline: "+at.node.Ref)...), "")
	}
	if at.node.Ref != "" {
		lines = append(lines, "Using stage type: "+at.node.Ref)
	}
	runs := "Runs: " + describeRuns(at.node)
	if at.Event.Cursor.Visit > 1 {
		runs = fmt.Sprintf("Visit: %d | %s", at.Event.Cursor.Visit, runs)
	}
	return append(nodeBox(append(lines, runs+" | Provider: "+NodeProvider(at.node))...), "")
}

// runHead returns the head of one of several runs of an embedded pipeline.
func runHead(_ place, d event.RunStartData) []string {
	if d.Max < 2 {
		return nil
	}
	return []string{fmt.Sprintf("  %s: run %d of %d", d.Name, d.N, d.Max), ""}
}

func describeRuns(n *plan.Node) string {
	limit, kind := n.Termination.Max(), n.Termination.Type()
	switch {
	case limit == 0:
		return "until " + kind + " says stop"
	case kind == plan.TypeFixed:
		return fmt.Sprint(limit)
	default:
		return fmt.Sprintf("at most %d, until %s says stop", limit, kind)
	}
}

func iterationHead(at place) []string {
	if at.branch() != "" {
		return blockIteration(at)
	}
	limit := 0
	if at.node != nil {
		limit = at.node.Termination.Max()
	}
	i := at.Event.Cursor.Iteration
	switch {
	case limit == 0:
		return []string{fmt.Sprintf("  Iteration %d...", i)}
	case at.loop():
		return []string{fmt.Sprintf("  Iteration %d of %d", i, limit)}
	default:
		return []string{fmt.Sprintf("  Iteration %d/%d...", i, limit)}
	}
}

func iterationEnd(at place, d event.IterationCompleteData) []string {
	if d.Summary == "" {
		return nil
	}
	return []string{"    " + at.branchPrefix() + Clean(d.Summary)}
}

func attemptFailed(at place, d event.FailureData) []string {
	return []string{fmt.Sprintf("  ✗ %s%s: %s", at.branchPrefix(), d.ErrorType, Clean(d.Message))}
}

func attemptRetried(at place, d event.RetryData) []string {
	return []string{fmt.Sprintf("  ↻ %sattempt %d of %d", at.branchPrefix(), d.N, d.Max)}
}

// decided reports a decision to continue; the end of a node has its own line.
func decided(at place, d event.DecisionData) []string {
	if d.Action != "continue" {
		return nil
	}
	var lines []string
	if d.Reason != "" && (at.verbose || d.Round > 0) {
		lines = append(lines, fmt.Sprintf("    %s%s: %s", at.branchPrefix(), d.Strategy, Clean(d.Reason)))
	}
	// A delay sets a timer, which has the same line; scripts know the line for a delay of zero too. Before the first
	// iteration there is no delay.
	if at.loop() && at.Event.Cursor != nil && at.Event.Cursor.Iteration > 0 && at.node != nil && at.node.Delay != nil && *at.node.Delay == 0 && !at.State.SkipDelays {
		lines = append(lines, "Waiting 0 seconds...")
	}
	return lines
}

func judgeAsked(at place, d event.JudgeStartData) []string {
	return []string{"    " + at.branchPrefix() + "Asking the judge (" + d.Provider + ")..."}
}

func judgeAnswered(at place, d event.JudgeCompleteData) []string {
	if d.Status == "success" {
		return nil
	}
	return []string{"    " + at.branchPrefix() + "The judge did not answer: " + d.Reason}
}

func nodeEnd(at place, d event.NodeCompleteData) []string {
	if at.block() {
		return blockEnd(at)
	}
	completed := at.State.Nodes[at.Event.Cursor.NodePath].Loop.Completed
	var lines []string
	switch {
	case d.Reason == maximum:
		lines = append(lines, fmt.Sprintf("Maximum iterations (%d) reached", completed))
	case d.Reason != "" && !repeatsFailure(d):
		lines = append(lines, Clean(d.Reason))
	}
	if at.loop() {
		return lines
	}
	switch {
	case d.Status == "failed":
		lines = append(lines, fmt.Sprintf("  ✗ %s failed", d.Name))
	case d.Status == "skipped":
		lines = append(lines, fmt.Sprintf("  ⏭ %s skipped", d.Name))
	case at.node != nil && at.node.Kind == plan.KindPipeline: // a pipeline node has no iterations of its own
		lines = append(lines, fmt.Sprintf("  ✓ %s complete", d.Name))
	case d.Reason != maximum:
		lines = append(lines, fmt.Sprintf("  ✓ Completion condition met after %d iterations", completed))
	}
	return append(lines, "")
}
