package screen

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

const modeLoop = "loop"

// maximum is the reason of a node that used all its iterations.
const maximum = "max_iterations"

// Renderer renders the updates of a session as lines. The lines of the Bash engine keep their wording, because scripts
// search for them. It is not safe for concurrent use.
type Renderer struct {
	// Verbose adds details for troubleshooting, and the texts of agents.
	Verbose bool

	echoes     echoes
	progressOf map[string]string // last message by branch

	remedy string // of the last failure
}

// progress returns the progress of an agent if it has changed: "● Turn 2: write_file main.go".
func (n *Renderer) progress(r engine.Report) []string {
	if n.progressOf == nil {
		n.progressOf = map[string]string{}
	}
	message, before := r.Progress.Message, n.progressOf[r.Branch]
	n.progressOf[r.Branch] = message
	if message == "" || message == before {
		return nil
	}
	if r.Progress.Turn > 0 {
		message = fmt.Sprintf("Turn %d: %s", r.Progress.Turn, message)
	}
	return withBranch(r.Branch, []string{"    ● " + Clean(message)})
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
	at := place{Update: u}
	if u.Event.Cursor != nil {
		at.node = u.Plan.Find(u.Event.Cursor.NodePath)
	}
	lines := n.eventLines(at, *u.Event)
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return append(n.echoes.end(branch(*u.Event)), lines...)
}

// place is an update with its node, nil for none.
type place struct {
	engine.Update
	node *plan.Node
}

func (p place) loop() bool { return p.State.Mode == modeLoop }

// eventLines returns the lines for an event.
//
//nolint:funlen // one case for each type of event
func (n *Renderer) eventLines(at place, e event.Event) []string {
	if lines, ok := n.contractLines(at, e); ok {
		return lines
	}
	switch e.Type {
	case event.SessionStart:
		return sessionHead(at)
	case event.SessionResumed:
		return append(sessionResumed(at), pendingTimers(at, e)...)
	case event.QuestionAsked:
		return decoded(at, e, questionAsked)
	case event.QuestionAnswered:
		return decoded(at, e, questionAnswered)
	case event.HookStart:
		return nil // the end of a hook has the line
	case event.HookComplete, event.HookTimeout:
		return decoded(at, e, hookEnd)
	case event.HookSkipped:
		return decoded(at, e, hookSkipped)
	case event.RunStart:
		return sessionHead(at)
	case event.LateDelivery:
		return decoded(at, e, lateDelivery)
	case event.SecretFound:
		return decoded(at, e, secretFound)
	case event.NodeStart:
		return nodeHead(at, e)
	case event.NodeRunStart:
		return decoded(at, e, runHead)
	case event.IterationStart:
		return iterationHead(at, e)
	case event.ParallelProviderStart:
		return providerStarted(e)
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		return decoded(at, e, providerEnded)
	case event.IterationComplete:
		return decoded(at, e, iterationEnd)
	case event.Error:
		return decoded(at, e, attemptFailed)
	case event.Retry:
		return decoded(at, e, attemptRetried)
	case event.Decision:
		return decoded(at, e, n.decided)
	case event.JudgeStart:
		return decoded(at, e, judgeAsked)
	case event.JudgeComplete:
		return decoded(at, e, judgeAnswered)
	case event.TimerSet:
		return decoded(at, e, timerSet)
	case event.NodeComplete:
		return decoded(at, e, nodeEnd)
	default:
		return n.verboseLines(at, e)
	}
}

// decoded returns the lines for an event with its payload, none if it cannot be decoded.
func decoded[T any](at place, e event.Event, lines func(place, event.Event, T) []string) []string {
	d, err := event.Decode[T](e)
	if err != nil {
		return nil
	}
	return lines(at, e, d)
}

// verboseLines returns details for troubleshooting.
func (n *Renderer) verboseLines(at place, e event.Event) []string {
	switch {
	case !n.Verbose:
		return nil
	case e.Type == event.ToolCall:
		return decoded(at, e, toolCalled)
	case e.Type == event.ToolResult:
		return decoded(at, e, toolEnded)
	default:
		return []string{"  · " + Details(e)}
	}
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
	return append(lines, "  Provider: "+ProviderOf(&n), "  Completion: "+n.Termination.Type(), "")
}

func sessionResumed(at place) []string {
	n := at.Plan.Find(at.State.At)
	if n == nil {
		return []string{fmt.Sprintf("Resuming session '%s'", at.Session) + inRun(at)}
	}
	if n.Kind == plan.KindParallel {
		return resumedBlock(at, n)
	}
	from := nextAction(at.State.Nodes[n.Path].Loop)
	if at.loop() {
		return []string{fmt.Sprintf("Resuming session '%s' from %s", at.Session, from)}
	}
	return []string{fmt.Sprintf("Resuming session '%s' from stage %s, %s", at.Session, n.ID, from) + inRun(at)}
}

// nextAction returns the next action of a loop: an iteration, the decision about another one, or its end.
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

// inRun returns the number of the current run of the pipeline, "" if there is one run.
func inRun(at place) string {
	if at.State.Runs < 2 {
		return ""
	}
	return fmt.Sprintf(" (run %d of %d)", at.State.Run, at.State.Runs)
}

func nodeHead(at place, e event.Event) []string {
	if at.loop() || at.node == nil {
		return nil
	}
	if at.block() {
		return blockHead(at.node)
	}
	nodes, position := at.Plan.Siblings(at.node.Path)
	if at.node.Kind == plan.KindPipeline {
		return pipelineHead(at, position+1, len(nodes))
	}
	lines := []string{fmt.Sprintf("Loop %d/%d: %s", position+1, len(nodes), at.node.ID)}
	if at.node.Description != "" {
		lines = append(lines, at.node.Description)
	}
	if at.node.Ref != "" {
		lines = append(lines, "Using stage type: "+at.node.Ref)
	}
	runs := "Runs: " + runsOf(at.node)
	if e.Cursor.Visit > 1 {
		runs = fmt.Sprintf("Visit: %d | %s", e.Cursor.Visit, runs)
	}
	return append(nodeBox(append(lines, runs+" | Provider: "+ProviderOf(at.node))...), "")
}

// pipelineHead returns the head of an embedded pipeline.
func pipelineHead(at place, number, of int) []string {
	lines := []string{fmt.Sprintf("Pipeline %d/%d: %s", number, of, at.node.ID)}
	if at.node.Description != "" {
		lines = append(lines, at.node.Description)
	}
	return append(nodeBox(append(lines, "Runs the pipeline: "+at.node.Ref)...), "")
}

// runHead returns the head of one of several runs of an embedded pipeline.
func runHead(_ place, _ event.Event, d event.RunStartData) []string {
	if d.Max < 2 {
		return nil
	}
	return []string{fmt.Sprintf("  %s: run %d of %d", d.Name, d.N, d.Max), ""}
}

func runsOf(n *plan.Node) string {
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

// ProviderOf returns the provider of a node as text: "claude, model opus".
func ProviderOf(n *plan.Node) string {
	if n.Provider == nil {
		return "none"
	}
	if n.Provider.Model == "" {
		return n.Provider.Type
	}
	return n.Provider.Type + ", model " + n.Provider.Model
}

func iterationHead(at place, e event.Event) []string {
	if branch(e) != "" {
		return blockIteration(at, e)
	}
	limit := 0
	if at.node != nil {
		limit = at.node.Termination.Max()
	}
	i := e.Cursor.Iteration
	switch {
	case limit == 0:
		return []string{fmt.Sprintf("  Iteration %d...", i)}
	case at.loop():
		return []string{fmt.Sprintf("  Iteration %d of %d", i, limit)}
	default:
		return []string{fmt.Sprintf("  Iteration %d/%d...", i, limit)}
	}
}

func iterationEnd(_ place, e event.Event, d event.IterationCompleteData) []string {
	if d.Summary == "" {
		return nil
	}
	return []string{"    " + branchPrefix(e) + Clean(d.Summary)}
}

func attemptFailed(_ place, e event.Event, d event.FailureData) []string {
	return []string{fmt.Sprintf("  ✗ %s%s: %s", branchPrefix(e), d.ErrorType, Clean(d.Message))}
}

func attemptRetried(_ place, e event.Event, d event.RetryData) []string {
	return []string{fmt.Sprintf("  ↻ %sattempt %d of %d", branchPrefix(e), d.N, d.Max)}
}

// decided reports a decision to continue; the end of a node has its own line.
func (n *Renderer) decided(at place, e event.Event, d event.DecisionData) []string {
	if d.Action != "continue" {
		return nil
	}
	var lines []string
	if d.Reason != "" && (n.Verbose || d.Round > 0) {
		lines = append(lines, fmt.Sprintf("    %s%s: %s", branchPrefix(e), d.Strategy, Clean(d.Reason)))
	}
	// A delay sets a timer, which has the same line; scripts know the line for a delay of zero too. Before the first
	// iteration there is no delay.
	if at.loop() && e.Cursor != nil && e.Cursor.Iteration > 0 && at.node != nil && at.node.Delay != nil && *at.node.Delay == 0 && !at.State.SkipDelays {
		lines = append(lines, "Waiting 0 seconds...")
	}
	return lines
}

func judgeAsked(_ place, e event.Event, d event.JudgeStartData) []string {
	return []string{"    " + branchPrefix(e) + "Asking the judge (" + d.Provider + ")..."}
}

func judgeAnswered(_ place, e event.Event, d event.JudgeCompleteData) []string {
	if d.Status == "success" {
		return nil
	}
	return []string{"    " + branchPrefix(e) + "The judge did not answer: " + d.Reason}
}

func nodeEnd(at place, e event.Event, d event.NodeCompleteData) []string {
	if at.block() {
		return blockEnd(at, e)
	}
	completed := at.State.Nodes[e.Cursor.NodePath].Loop.Completed
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
	case at.node != nil && at.node.Kind == plan.KindPipeline: // it has no iterations of its own
		lines = append(lines, fmt.Sprintf("  ✓ %s complete", d.Name))
	case d.Reason != maximum:
		lines = append(lines, fmt.Sprintf("  ✓ Completion condition met after %d iterations", completed))
	}
	return append(lines, "")
}

// repeatsFailure reports whether the end of a node repeats the failure of its last attempt.
func repeatsFailure(d event.NodeCompleteData) bool {
	return d.Failure != nil && d.Failure.Attempt > 0 && d.Reason == d.Failure.Message
}
