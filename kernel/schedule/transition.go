package schedule

// When a node's work is done, a stage retry, a question to the user, or the event that commits the transition follows.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// visit is the current visit of a node, in its plan and state.
type visit struct {
	plan      *plan.Plan
	state     state.State
	node      *plan.Node
	nodeState state.Node // the node's own part of the state
}

// complete leaves a node whose work is done: first the stage retries, then its stage_end hooks, then the
// transition. If the transition fails the run, the session_end hooks are called before it is committed.
func (v visit) complete() []Command {
	p, s, n, ns := v.plan, v.state, v.node, v.nodeState
	end := progress.NodeOutcome(s, n, ns)
	route := p.Route(n, end.Outcome)
	if cmds := v.retryStage(route); cmds != nil {
		return cmds
	}
	if cmds, passed := newHookPoint(plan.PointStageEnd, n, ns.IterationLocation(n.Path), ns.HookCursor).dueCommands(p, s); !passed {
		return cmds
	}
	d := event.NodeCompleteData{
		Name: progress.NodeName(p, s, n), Status: string(state.NodeComplete), Reason: end.Reason,
		Outcome: string(end.Outcome), To: route.To, Failure: end.Failure,
	}
	if route.Name != "" {
		d.Edge, d.Cycle, d.Limit, d.PassHash = route.Name, s.Cycles[route.Name].Count+1, route.Limit, passHash(p, s, n, route.To)
	}
	if stop := v.blockedBy(end, route, d.PassHash); stop != nil {
		if stop.action == plan.ToPause {
			esc := escalation{key: ns.EscalationKey(n.Path), cursor: end.Cursor, code: stop.code, text: stop.question, shown: shownFiles(ns.Loop)}
			if end.Failure != nil {
				esc.remedy = end.Failure.Remedy
			}
			return escalate(p, s, n, esc)
		}
		d.To, d.Edge, d.Cycle, d.Limit, d.PassHash = stop.action, "", 0, 0, ""
		d.Failure = stop.failure(n, end)
		d.Reason = d.Failure.Message
	}
	if d.To == plan.ToFailed {
		d.Status = string(state.NodeFailed)
		if d.Failure == nil {
			d.Failure = v.outcomeFailure(end)
		}
		return completeSession(p, s, event.New(event.NodeComplete, end.Cursor, "", d))
	}
	return record(event.New(event.NodeComplete, end.Cursor, "", d))
}

// retryStage repeats the node's work in the same visit if its outcome routes to retry and stage retries are left.
func (v visit) retryStage(route plan.Route) []Command {
	n, ns, limit := v.node, v.nodeState, maxStageRetries(v.plan, v.node)
	if route.To != plan.ToRetry || n.Kind == plan.KindPipeline || ns.StageAttempt >= limit || ns.InputFailure != nil || ns.Loop.Failure != nil && ns.Loop.Failure.Escalate {
		return nil
	}
	key := ns.Location(n.Path).Key(event.KeyRestart, ns.StageAttempt+2)
	d := event.RetryData{Rung: event.RungStage, N: ns.StageAttempt + 2, Max: limit + 1}
	return record(event.New(event.Retry, ns.IterationLocation(n.Path).Cursor(), key, d))
}

func maxStageRetries(p *plan.Plan, n *plan.Node) int {
	if r := p.EffectivePolicy(n).Retry; r != nil && r.Stage > 0 {
		return r.Stage
	}
	return defaultStageRetries
}

// defaultStageRetries is the number of stage retries of a node.
const defaultStageRetries = 2

// limitAction returns the action when the limit of an edge or of the stage retries is reached.
func limitAction(p *plan.Plan, n *plan.Node, route plan.Route) string {
	policy := ""
	if e := p.EffectivePolicy(n).Escalation; e != nil {
		policy = e.OnLimit
	}
	return cmp.Or(route.Edge.OnLimit, policy, plan.ToPause)
}

// blockReason is the reason why the transition of an outcome cannot be taken, with the action instead: pause, failed or
// abort.
type blockReason struct {
	action   string
	code     string
	kind     failure.Kind // "" for the kind of the node's own failure
	question string       // for the user
	summary  string       // the question without the possible answers
}

// failure returns the failure record of a run that ends at a blocked transition.
func (b blockReason) failure(n *plan.Node, end progress.Outcome) *event.FailureData {
	kind := b.kind
	if kind == "" && end.Failure != nil {
		f := *end.Failure
		f.Message, f.Usage, f.Collateral = b.summary, nil, false
		return &f
	}
	kind = cmp.Or(kind, failure.CheckFailed)
	return &event.FailureData{Code: kind.Code(), ErrorType: string(kind), Message: b.summary, Node: n.ID, Stage: n.ID}
}

// blockedBy returns why the transition cannot be taken, nil if it can.
func (v visit) blockedBy(end progress.Outcome, route plan.Route, pass string) *blockReason {
	p, n, ns := v.plan, v.node, v.nodeState
	reason := cmp.Or(end.Reason, "no reason given")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	b := blockReason{action: plan.ToPause, code: codeEscalated}
	if end.Outcome == plan.OutcomeBudget {
		b.code = failure.BudgetExceeded.Code()
	}
	approval := "continuing starts it again, with your text in its prompt"
	switch {
	case route.To == plan.ToRetry && ns.StageAttempt > 0:
		b.action = limitAction(p, n, route)
		b.summary = fmt.Sprintf("%s ended as %s %d times, after all its stage retries: %s", n.ID, end.Outcome, ns.StageAttempt+1, reason)
	case route.To == plan.ToPause && end.Outcome == plan.OutcomeBudget && len(p.Ceilings(n.Path)) > 0:
		b.summary = fmt.Sprintf("%s has used up its budget: %s", n.ID, reason)
		approval = "continuing allows the same amount again"
	case route.To == plan.ToPause && end.Outcome == plan.OutcomeBudget:
		b.summary = fmt.Sprintf("%s is over its budget: %s", n.ID, reason)
	case route.To == plan.ToPause && end.Outcome == plan.OutcomeEscalate && ns.Escalations >= p.CycleLimits(n).Max:
		b.action, b.kind = plan.ToFailed, failure.CycleLimit
		b.summary = fmt.Sprintf("%s needs the user again after %d escalations, the maximum of policy.cycles.max: %s", n.ID, ns.Escalations, reason)
		return &b
	case route.To == plan.ToPause && end.Outcome == plan.OutcomeEscalate:
		b.summary = fmt.Sprintf("%s needs the user: %s", n.ID, reason)
	case route.To == plan.ToRetry || route.To == plan.ToPause:
		b.summary = fmt.Sprintf("%s ended as %s: %s", n.ID, end.Outcome, reason)
	case route.Name != "" && !ns.Approved:
		limit := overLimit(v.state, p.CycleLimits(n), route, pass)
		if limit == "" {
			return nil
		}
		b.action, b.kind, b.code = limitAction(p, n, route), failure.CycleLimit, failure.CycleLimit.Code()
		b.summary = fmt.Sprintf("%s ended as %s, and %s: %s", n.ID, end.Outcome, limit, reason)
		approval = fmt.Sprintf("continuing takes %s once more, with your text in the prompt of %s", route.Name, route.Edge.To)
	default:
		return nil
	}
	b.question = b.summary + "; " + approval + "; reject ends the run"
	return &b
}

// maxReason is the maximum number of bytes of a reason that a question to the user repeats.
const maxReason = 1000

// codeEscalated is the code of a question about a node that cannot continue without the user.
const codeEscalated = "ACODE-ORCH-004"

// outcomeFailure returns the failure record of a node with a bad outcome and no failure of its own: a check or a
// verdict was negative.
func (v visit) outcomeFailure(end progress.Outcome) *event.FailureData {
	n, l, kind := v.node, v.nodeState.Loop, failure.AgentError
	if slices.ContainsFunc(l.Measured, func(m state.Measurement) bool { return !m.Passed }) {
		kind = failure.CheckFailed
	}
	return &event.FailureData{
		Code: kind.Code(), ErrorType: string(kind), Node: n.ID, Stage: n.ID, Iteration: l.Iteration,
		Message: fmt.Sprintf("%s ended as %s: %s", n.ID, end.Outcome, cmp.Or(end.Reason, "no reason given")),
	}
}
