package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// roundStep sets the keys of a hook apart that is called again in the same place.
const roundStep = 10_000

// defaultRestarts is how often hooks may send a node back (REQUIREMENTS K31).
const defaultRestarts = 3

// CallbackNumber is the number of the i-th callback of the program that holds the session, from 0: callbacks
// come after the hooks of the pipeline.
func CallbackNumber(i int) int { return plan.MaxHooks + 1 + i }

// crossing is a hook point in a place of the run.
type hookPoint struct {
	point  plan.HookPoint
	node   *plan.Node // the stage, block or pipeline; nil at the session's points
	loc    event.Location
	cursor state.HookCursor // how far the calling of the point's hooks has come
}

func newHookPoint(point plan.HookPoint, n *plan.Node, loc event.Location, gate state.HookCursor) hookPoint {
	return hookPoint{point, n, loc, cursorFor(gate, point, loc.Iteration)}
}

// entered is the gate, or a new one if it belongs to another point, of the same round.
func cursorFor(g state.HookCursor, point plan.HookPoint, iteration int) state.HookCursor {
	if g.Point != string(point) || g.Iteration != iteration {
		return state.HookCursor{Point: string(point), Iteration: iteration, Round: g.Round}
	}
	return g
}

// due are the commands of the hook that is next. The run goes on past the point when it is passed; otherwise
// it waits, for a hook or for a person.
func (c hookPoint) dueCommands(p *plan.Plan, s state.State) (cmds []Command, passed bool) {
	number, found := c.nextHook(p, s)
	if !found {
		return nil, true
	}
	key := hookKey(c.loc, c.cursor, number)
	id := event.QuestionID(key)
	if q, asked := s.Questions[id]; asked && q.Answer == nil {
		return awaitAnswer(s, c.loc.Cursor(), id, q), false
	}
	return []Command{{Kind: Hook, Key: key, Location: c.loc, Hook: number, Point: c.point}}, false
}

func hookKey(loc event.Location, g state.HookCursor, number int) event.Key {
	return loc.Key(event.KeyHook, g.Round*roundStep+number)
}

// next is the number of the first hook that applies and has not answered.
func (c hookPoint) nextHook(p *plan.Plan, s state.State) (number int, found bool) {
	for _, h := range c.hooks(p) {
		if h.Number > c.cursor.Done {
			return h.Number, true
		}
	}
	for i, point := range s.Callbacks {
		if number := CallbackNumber(i); point == string(c.point) && number > c.cursor.Done {
			return number, true
		}
	}
	return 0, false
}

// hooks are those of the plan in whose list the node stands that are for this point and node.
func (c hookPoint) hooks(p *plan.Plan) []plan.Hook {
	holder := p
	if c.node != nil {
		holder, _ = p.Holder(c.loc.Outer())
	}
	var hooks []plan.Hook
	for _, h := range holder.Pipeline.Hooks {
		if h.Point == c.point && (h.Stage == "" || c.matches(p, h.Stage)) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// isOf reports whether the crossing is one of the node with the id. What happens in a parallel block is of the
// block and of its stage.
func (c hookPoint) matches(p *plan.Plan, id string) bool {
	if c.node == nil || c.node.ID == id {
		return c.node != nil
	}
	if c.loc.Branch == "" {
		return false
	}
	block := p.Find(c.loc.Outer())
	return block != nil && (block.ID == id || c.isProviderPoint() && slices.ContainsFunc(block.Stages, func(n plan.Node) bool { return n.ID == id }))
}

func (c hookPoint) isProviderPoint() bool {
	return c.point == plan.PointParallelProviderStart || c.point == plan.PointParallelProviderEnd
}

// FindHook is the hook with the number that is called at a place, nil for a callback or where there is none.
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

// NodeOf is the node that a hook at the point in the place is about: inside a parallel block the stage as its
// provider runs it, at the provider's own points the block; nil at the session's points.
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

// ---- the points, in the order of a run

// beforeSession is the session's start, until its first node is entered.
func decideSessionStart(p *plan.Plan, s state.State) (cmds []Command, passed bool) {
	if len(s.Nodes) > 0 || s.Run > 1 || s.Gate.Point == string(plan.PointSessionEnd) {
		return nil, true
	}
	return newHookPoint(plan.PointSessionStart, nil, event.Location{}, s.Gate).dueCommands(p, s)
}

// leaveSession commits the run's last event, once the hooks of its end have been called.
func completeSession(p *plan.Plan, s state.State, last event.Event) []Command {
	if cmds, passed := newHookPoint(plan.PointSessionEnd, nil, event.Location{}, s.Gate).dueCommands(p, s); !passed {
		return cmds
	}
	return record(last)
}

// enterNode are the hooks of a node that was entered and has not begun.
func decideStartHooks(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) (cmds []Command, passed bool) {
	if hasBegun(ns) {
		return nil, true
	}
	return newHookPoint(plan.PointStageStart, n, nodeLocation(n.Path, ns), ns.Gate).dueCommands(p, s)
}

// begun reports whether anything of a node that was entered has begun.
func hasBegun(n state.Node) bool {
	return n.Runs > 0 || len(n.Branches) > 0 || !isBlock(n) && !isFresh(n.Loop)
}

// fresh reports whether nothing of the loop has begun.
func isFresh(l state.Loop) bool {
	return (l.Phase == state.PhaseReady || l.Phase == state.PhaseEnter) && len(l.Measured) == 0 && l.Iteration == 0 && l.Completed == 0 && l.Gate.Point == ""
}

// beforeIteration are the hooks before a new iteration; a retry is none.
func beforeIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Attempt > 0 {
		return nil, true
	}
	loc.Iteration = l.Completed + 1
	return newHookPoint(plan.PointIterationStart, n, loc, l.Gate).dueCommands(p, s)
}

// afterIteration are the hooks after an iteration, before the strategy is asked about it.
func afterIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Completed == 0 || l.Round > 0 || l.Check == state.CheckDue {
		return nil, true
	}
	loc.Iteration = l.Completed
	return newHookPoint(plan.PointIterationEnd, n, loc, l.Gate).dueCommands(p, s)
}

// atEnd reports whether the hooks of an end have begun to answer or to ask: what has ended then stays so, and the run
// goes on with the next of them.
func endHooksBegun(s state.State, loc event.Location, g state.HookCursor) bool {
	if !strings.HasSuffix(g.Point, "_end") || g.Point == string(plan.PointIterationEnd) {
		return false
	}
	loc.Iteration = g.Iteration
	for _, q := range s.Questions {
		if kind, of, n, ok := q.Key.Parse(); ok && kind == event.KeyHook && of == loc && n/roundStep == g.Round {
			return true
		}
	}
	return g.Done > 0
}

// ofProvider are the hooks before or after the work of a provider in a block.
func decideProviderHooks(p *plan.Plan, s state.State, point plan.HookPoint, n *plan.Node, loc event.Location, b state.Branch) (cmds []Command, passed bool) {
	if point == plan.PointParallelProviderStart {
		if b.Stage > 0 || !isFresh(b.Loop) {
			return nil, true
		}
		loc.Iteration = 0
	}
	return newHookPoint(point, n, loc, b.Gate).dueCommands(p, s)
}

// ---- a stage that begins anew

// decideRestart enters the node once more when nothing of it is under way any more. Beyond the limit a person
// has to say so: a hook that never lets a stage go on would cost a night.
func decideRestart(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	if len(inFlightEffects(n.Path, ns)) > 0 {
		return nil
	}
	most := maxRestarts(p, n)
	if ns.Restart.Granted || ns.Visit-s.PriorVisits[n.Path] <= most {
		return record(nodeStartEvent(p, s, n))
	}
	key := restartKey(n.Path, ns)
	return escalate(p, s, n, escalation{key: key, cursor: nodeLocation(n.Path, ns).Cursor(), shown: shownFiles(ns.Loop), text: fmt.Sprintf(
		"a hook sends %s back once more (%s), and policy.feedback allows %d; approve lets it, reject ends the run", n.ID, cmp.Or(ns.Restart.Reason, "it gave no reason"), most)})
}

func restartKey(path string, ns state.Node) event.Key {
	return nodeLocation(path, ns).Key(event.KeyRestart, 1)
}

// restarts is how often a node may be sent back without a person being asked.
func maxRestarts(p *plan.Plan, n *plan.Node) int {
	f := p.PolicyOf(n).Feedback
	switch {
	case f == nil:
		return defaultRestarts
	case !f.Enabled:
		return 0
	default:
		return cmp.Or(f.Max, defaultRestarts)
	}
}
