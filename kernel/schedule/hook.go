package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// roundStep separates the keys of a hook that is called again at the same location.
const roundStep = 10_000

// defaultRestarts is how often hooks may restart a node (REQUIREMENTS K31).
const defaultRestarts = 3

// CallbackNumber returns the hook number of the i-th callback, counted from 0, of the program that holds the session.
// Callbacks follow the hooks of the pipeline.
func CallbackNumber(i int) int { return plan.MaxHooks + 1 + i }

// hookPoint is a hook point at a location of the run.
type hookPoint struct {
	point  plan.HookPoint
	node   *plan.Node // the stage, block or pipeline; nil at the session's points
	loc    event.Location
	cursor state.HookCursor // progress through the point's hooks
}

func newHookPoint(point plan.HookPoint, n *plan.Node, loc event.Location, cursor state.HookCursor) hookPoint {
	return hookPoint{point, n, loc, cursor.AtPoint(point, loc.Iteration)}
}

// dueCommands returns the command for the next hook. passed is true when no hook is left; otherwise the run waits for
// a hook or for the user.
func (hp hookPoint) dueCommands(p *plan.Plan, s state.State) (cmds []Command, passed bool) {
	number, found := hp.nextHook(p, s)
	if !found {
		return nil, true
	}
	key := hp.cursor.Key(hp.loc, number)
	id := event.QuestionID(key)
	if q, asked := s.Questions[id]; asked && q.Answer == nil {
		return awaitAnswer(s, hp.loc.Cursor(), id, q), false
	}
	return []Command{{Kind: Hook, Key: key, Location: hp.loc, Hook: number, Point: hp.point}}, false
}

// nextHook returns the number of the first hook that applies and has not answered.
func (hp hookPoint) nextHook(p *plan.Plan, s state.State) (number int, found bool) {
	for _, h := range hp.hooks(p) {
		if h.Number > hp.cursor.Done {
			return h.Number, true
		}
	}
	for i, point := range s.Callbacks {
		if number := CallbackNumber(i); point == string(hp.point) && number > hp.cursor.Done {
			return number, true
		}
	}
	return 0, false
}

// hooks returns the hooks for this point and node, from the plan that contains the node.
func (hp hookPoint) hooks(p *plan.Plan) []plan.Hook {
	holder := p
	if hp.node != nil {
		holder, _ = p.Holder(hp.loc.Outer())
	}
	var hooks []plan.Hook
	for _, h := range holder.Pipeline.Hooks {
		if h.Point == hp.point && (h.Stage == "" || hp.matches(p, h.Stage)) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// matches reports whether the hook point belongs to the node with the id. In a parallel block it belongs to the block
// and to its stage.
func (hp hookPoint) matches(p *plan.Plan, id string) bool {
	if hp.node == nil || hp.node.ID == id {
		return hp.node != nil
	}
	if hp.loc.Branch == "" {
		return false
	}
	block := p.Find(hp.loc.Outer())
	return block != nil && (block.ID == id || hp.isProviderPoint() && slices.ContainsFunc(block.Stages, func(n plan.Node) bool { return n.ID == id }))
}

func (hp hookPoint) isProviderPoint() bool {
	return hp.point == plan.PointParallelProviderStart || hp.point == plan.PointParallelProviderEnd
}

// FindHook returns the hook with the number at a location, nil for a callback or if there is none.
func FindHook(p *plan.Plan, loc event.Location, number int) *plan.Hook {
	holder := p
	if loc.Node != "" {
		holder, _ = p.Holder(loc.Outer())
	}
	hooks := holder.Pipeline.Hooks
	if i := slices.IndexFunc(hooks, func(h plan.Hook) bool { return h.Number == number }); i >= 0 {
		return &hooks[i]
	}
	return nil
}

// NodeAt returns the node that a hook at the location is about, nil at the session's points. In a parallel block it
// is the stage with its provider's settings; at the provider's own points it is the block.
func NodeAt(p *plan.Plan, s state.State, loc event.Location, point plan.HookPoint) *plan.Node {
	switch point {
	case plan.PointSessionStart, plan.PointSessionEnd:
		return nil
	case plan.PointParallelProviderStart, plan.PointParallelProviderEnd:
		return p.Find(loc.Outer())
	default:
		return StageAt(p, s, loc)
	}
}

// decideSessionStart returns the session_start hooks that are due before the first node is entered.
func decideSessionStart(p *plan.Plan, s state.State) (cmds []Command, passed bool) {
	if len(s.Nodes) > 0 || s.Run > 1 || s.HookCursor.Point == string(plan.PointSessionEnd) {
		return nil, true
	}
	return newHookPoint(plan.PointSessionStart, nil, event.Location{}, s.HookCursor).dueCommands(p, s)
}

// completeSession commits the run's last event once the session_end hooks have been called.
func completeSession(p *plan.Plan, s state.State, last event.Event) []Command {
	if cmds, passed := newHookPoint(plan.PointSessionEnd, nil, event.Location{}, s.HookCursor).dueCommands(p, s); !passed {
		return cmds
	}
	return record(last)
}

// decideStartHooks returns the stage_start hooks of a node that was entered and has not begun.
func decideStartHooks(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) (cmds []Command, passed bool) {
	if ns.HasBegun() {
		return nil, true
	}
	return newHookPoint(plan.PointStageStart, n, ns.Location(n.Path), ns.HookCursor).dueCommands(p, s)
}

// beforeIteration returns the hooks before a new iteration; a retry has none.
func beforeIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Attempt > 0 {
		return nil, true
	}
	loc.Iteration = l.Completed + 1
	return newHookPoint(plan.PointIterationStart, n, loc, l.HookCursor).dueCommands(p, s)
}

// afterIteration returns the hooks after an iteration, before the strategy is asked about it.
func afterIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Completed == 0 || l.Round > 0 || l.Check == state.CheckDue {
		return nil, true
	}
	loc.Iteration = l.Completed
	return newHookPoint(plan.PointIterationEnd, n, loc, l.HookCursor).dueCommands(p, s)
}

// decideProviderHooks returns the hooks before or after the work of a provider in a block.
func decideProviderHooks(p *plan.Plan, s state.State, point plan.HookPoint, n *plan.Node, loc event.Location, b state.Branch) (cmds []Command, passed bool) {
	if point == plan.PointParallelProviderStart {
		if b.Stage > 0 || !b.Loop.IsFresh() {
			return nil, true
		}
		loc.Iteration = 0
	}
	return newHookPoint(point, n, loc, b.HookCursor).dueCommands(p, s)
}

// decideRestart enters the node again once nothing of it is in flight. Beyond the limit the user must agree, because
// a hook that never lets a stage pass could run all night.
func decideRestart(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	if len(ns.EffectsInFlight(n.Path)) > 0 {
		return nil
	}
	limit := maxRestarts(p, n)
	if ns.Restart.Approved || ns.Visit-s.PriorVisits[n.Path] <= limit {
		return record(nodeStartEvent(p, s, n))
	}
	key := ns.RestartKey(n.Path)
	return escalate(p, s, n, escalation{key: key, cursor: ns.Location(n.Path).Cursor(), shown: shownFiles(ns.Loop), text: fmt.Sprintf(
		"a hook restarts %s again (%s), but policy.feedback allows %d; approve allows it, reject ends the run", n.ID, cmp.Or(ns.Restart.Reason, "no reason given"), limit)})
}

// maxRestarts returns how often a node may be restarted without asking the user.
func maxRestarts(p *plan.Plan, n *plan.Node) int {
	f := p.EffectivePolicy(n).Feedback
	switch {
	case f == nil:
		return defaultRestarts
	case !f.Enabled:
		return 0
	default:
		return cmp.Or(f.Max, defaultRestarts)
	}
}
