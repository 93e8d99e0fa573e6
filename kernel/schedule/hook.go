package schedule

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// completeSession commits the run's last event once the session_end hooks have been called.
func completeSession(p *plan.Plan, s state.State, last event.Event) []Command {
	if cmds, passed := newHookPoint(plan.PointSessionEnd, nil, event.Location{}, s.HookCursor).dueCommands(p, s); !passed {
		return cmds
	}
	return record(last)
}

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
// and to its stage; a provider's own point belongs to the block and all its stages.
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
		return progress.StageAt(p, s, loc)
	}
}
