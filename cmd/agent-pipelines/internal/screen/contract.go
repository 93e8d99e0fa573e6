package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxPlanned bounds the steps that are listed when they are planned.
const maxPlanned = 20

// contractLines returns the lines about a node with a contract, which begin with the node's role (REQUIREMENTS U135,
// U226). ok is false if eventLines renders the event instead.
func contractLines(at place) (lines []string, ok bool) {
	if s := at.stage(); at.branch() != "" && s != nil {
		at.node = s
	}
	render, known := contractEvents[at.Event.Type]
	switch {
	case at.node == nil:
		return nil, false
	case at.Event.Type == event.ContextBuilt, at.Event.Type == event.ContextTrimmed:
		return withRole(role(at.node), at.branchPrefix()+promptSize(*at.Event)), true
	case !known || !at.node.HasContract() || blockEvents[at.Event.Type] && (at.block() || at.branch() != ""):
		return nil, false
	}
	lines = render(at)
	for i := range lines {
		lines[i] = at.branchPrefix() + lines[i]
	}
	lines = withRole(role(at.node), lines...)
	if at.Event.Type == event.NodeComplete {
		if at.block() {
			lines = append(blockEnd(at), lines...)
		}
		lines = append(append(append(lines, decoded(cycleReturned)(at)...), spent(at)...), "")
	}
	return lines, true
}

// contractEvents renders the events of nodes with a contract.
var contractEvents = map[event.Type]render{
	event.NodeStart:         visitBegin,
	event.IterationStart:    iterationBegin,
	event.IterationComplete: decoded(iterationSettled),
	event.Error:             decoded(failureWithRemedy),
	event.NodeComplete:      decoded(visitEnd),
	event.Retry:             decoded(ladderRetried),
	event.StepsPlanned:      decoded(stepsPlanned),
	event.StepStart:         decoded(stepBegin),
	event.StepComplete:      decoded(stepEnd),
	event.StepBlocked:       decoded(stepBlocked),
	event.CheckResult:       decoded(checkResult),
	event.InputChecked:      decoded(inputWarnings),
	event.AttemptComplete:   decoded(attemptUsage),
}

// blockEvents holds the events of parallel blocks whose lines do not depend on a contract.
var blockEvents = map[event.Type]bool{event.NodeStart: true, event.IterationStart: true, event.IterationComplete: true, event.Error: true}

// failureWithRemedy reports a failed attempt and its remedy, a repeated remedy once. A run that pauses for an escalation has
// no other error at its end.
func failureWithRemedy(at place, d event.FailureData) []string {
	if lines := faultLines(at, d); lines != nil {
		return lines
	}
	lines := []string{fmt.Sprintf("✗ %s: %s", d.ErrorType, Clean(d.Message))}
	if d.Remedy != "" && d.Remedy != *at.remedy {
		lines = append(lines, "  "+Clean(d.Remedy))
	}
	*at.remedy = d.Remedy
	return lines
}

// visitBegin returns the first line of a visit: "Stage 2/4: Does the work (claude, model opus), visit 2".
func visitBegin(at place) []string {
	nodes, position := at.Plan.Siblings(at.node.Path)
	line := fmt.Sprintf("Stage %d/%d: %s (%s)", position+1, len(nodes), Clean(cmp.Or(at.node.Description, at.node.Ref, at.node.ID)), NodeProvider(at.node))
	if visit := at.State.Nodes[at.node.Path].Visit; visit > 1 {
		line += fmt.Sprintf(", visit %d", visit)
	}
	return []string{line}
}

// iterationBegin returns the first line of an iteration, if there may be several.
func iterationBegin(at place) []string {
	limit := at.node.Termination.Max()
	switch {
	case limit == 1, at.Event.Cursor.Step != "" && at.Event.Cursor.Iteration == 1:
		return nil
	case at.Event.Cursor.Step != "", limit == 0:
		return []string{fmt.Sprintf("Iteration %d", at.Event.Cursor.Iteration)}
	default:
		return []string{fmt.Sprintf("Iteration %d/%d", at.Event.Cursor.Iteration, limit)}
	}
}

// iterationSettled returns the agent's summary, and the outcome of an iteration that does not end the visit.
func iterationSettled(at place, d event.IterationCompleteData) []string {
	var lines []string
	if at.Event.Key.Kind() == event.KeyAttempt { // of a step, whose attempt has no event of its own
		lines = decoded(attemptUsage)(at)
	}
	if d.ArtifactRetries > 0 {
		lines = append(lines, "✓ The artifact is healed, after "+Plural(d.ArtifactRetries, "heal"))
	}
	if d.Summary != "" {
		lines = append(lines, Clean(d.Summary))
	}
	if d.Outcome != "" && d.Outcome != string(plan.OutcomeSuccess) && at.node.Termination.Max() != 1 {
		lines = append(lines, verdict(d.Outcome, d.Message))
	}
	return lines
}

// visitEnd returns the line about the end of a visit.
func visitEnd(_ place, d event.NodeCompleteData) []string {
	reason := d.Reason
	if d.Edge != "" || repeatsFailure(d) || d.Outcome == string(plan.OutcomeSuccess) { // another line has the reason, or the reason adds nothing
		reason = ""
	}
	return []string{verdict(cmp.Or(d.Outcome, d.Status), reason)}
}

// verdict returns an outcome with its reason: "✗ fail: 2 of 14 tests failed".
func verdict(outcome, reason string) string {
	mark := "✗"
	switch plan.Outcome(outcome) {
	case plan.OutcomeSuccess:
		mark = "✓"
	case plan.OutcomeSkip:
		mark = "⏭"
	}
	if reason = Clean(reason); reason != "" {
		reason = ": " + reason
	}
	return mark + " " + outcome + reason
}

// cycleReturned reports a return over a counted edge; the first return is cycle 1 (REQUIREMENTS K36).
func cycleReturned(at place, d event.NodeCompleteData) []string {
	if d.Edge == "" {
		return nil
	}
	to := orchestrator
	if n := at.Plan.Find(d.To); n != nil {
		to = role(n)
	}
	line := fmt.Sprintf("Cycle %d/%d %s", d.Cycle, d.Limit, strings.Replace(Clean(d.Edge), "->", " -> ", 1))
	if d.Reason != "" {
		line += ": " + Clean(d.Reason)
	}
	return withRole(to, line)
}

// ladderRetried reports a retry. The event counts the first attempt too, the line counts only retries.
func ladderRetried(at place, d event.RetryData) []string {
	line := fmt.Sprintf("Retry %d/%d", d.N-1, d.Max-1)
	switch d.Rung {
	case event.RungStage:
		line = fmt.Sprintf("Stage retry %d/%d", d.N-1, d.Max-1)
	case event.RungArtifact: // heals have no first attempt
		line = fmt.Sprintf("Heal %d/%d: asked for the artifact again", d.N, d.Max)
	}
	if at.Event.Cursor.Step != "" {
		line += ": " + stepName(at, at.Event.Cursor.Step)
	}
	return []string{line}
}

// stepName returns the position of a step: "Step 2/5", its id if the position is unknown.
func stepName(at place, id string) string {
	order := at.State.Nodes[at.node.Path].Order
	if i := slices.Index(order, id); i >= 0 {
		return fmt.Sprintf("Step %d/%d", i+1, len(order))
	}
	return "Step " + Clean(id)
}

func stepBegin(_ place, d event.StepStartData) []string {
	return []string{fmt.Sprintf("Step %d/%d: %s", d.N, d.Total, Clean(cmp.Or(d.Title, d.Step)))}
}

func stepBlocked(at place, d event.StepBlockedData) []string {
	return []string{stepName(at, d.Step) + " blocked: it depends on " + Clean(d.By)}
}

// stepsPlanned lists the steps of a node.
func stepsPlanned(_ place, d event.StepsPlannedData) []string {
	if d.Failure != nil {
		return []string{fmt.Sprintf("✗ %s: %s", d.Failure.ErrorType, Clean(d.Failure.Message))}
	}
	lines := []string{Plural(len(d.Steps), "step")}
	for i, s := range d.Steps {
		if i == maxPlanned {
			return append(lines, fmt.Sprintf("  … and %d more", len(d.Steps)-i))
		}
		lines = append(lines, fmt.Sprintf("  %d. %s", i+1, Clean(cmp.Or(s.Title, s.ID))))
	}
	return lines
}

func stepEnd(_ place, d event.StepCompleteData) []string {
	line := fmt.Sprintf("Step %d/%d %s", d.N, d.Total, d.Status)
	if d.Status == string(state.StepFailed) {
		line = "✗ " + line
	}
	if d.Reason != "" && d.Status != string(state.StepComplete) {
		line += ": " + Clean(d.Reason)
	}
	return []string{line}
}

// checkResult describes the result of a check: "✗ Check tests: 2 of 14 tests failed (12 passed, 2 failed; 1.2s)".
func checkResult(_ place, d event.CheckResultData) []string {
	if d.Skipped {
		return []string{fmt.Sprintf("○ Check %s left out: %s", Clean(d.ID), Clean(d.Reason))}
	}
	mark, reason := "✓", d.Reason
	if !d.Passed {
		mark = "✗"
	}
	if d.Failure != nil {
		reason = cmp.Or(reason, d.Failure.Message)
	}
	line := fmt.Sprintf("%s Check %s", mark, Clean(d.ID))
	if reason != "" && !d.Passed {
		line += ": " + Clean(reason)
	}
	return []string{line + " (" + checkNumbers(d) + ")"}
}

// checkNumbers returns the counts, the exit code and the duration of a check.
func checkNumbers(d event.CheckResultData) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", Clean(name), d.Counts[name]))
	}
	if d.ExitCode != nil {
		parts = append(parts, fmt.Sprintf("exit code %d", *d.ExitCode))
	}
	return strings.Join(append(parts, DurationText(time.Duration(d.DurationMS)*time.Millisecond)), ", ")
}

// attemptUsage returns the duration and the consumption of an attempt, if Verbose is set.
func attemptUsage(at place, d event.AttemptCompleteData) []string {
	if !at.verbose {
		return nil
	}
	line := "Attempt took " + DurationText(time.Duration(d.DurationMS)*time.Millisecond)
	if d.Usage == nil {
		return []string{line + ", usage unknown"}
	}
	return []string{line + ", " + cmp.Or(Usage(*d.Usage), "usage unknown")}
}

// The events artifact_invalid, artifact_healed and artifact_warning have no lines, because they
// repeat the content of other events for readers of the journal.

// faultLines lists the faults of an attempt's artifact, nil for another failure.
func faultLines(at place, d event.FailureData) []string {
	if len(d.Faults) == 0 || at.Event.Key.Kind() != event.KeySettle {
		return nil
	}
	lines := []string{"✗ The artifact is not what the contract says:"}
	for _, f := range d.Faults {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", Clean(f.Path), Clean(f.Code), Clean(f.Message)))
	}
	return lines
}

// inputWarnings lists the warnings about a node's input artifact.
func inputWarnings(_ place, d event.InputCheckedData) []string {
	var lines []string
	for _, warning := range d.Warnings {
		lines = append(lines, "⚠ "+Clean(warning))
	}
	return lines
}
