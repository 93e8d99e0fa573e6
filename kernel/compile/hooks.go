package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// defaultQuestion is the question of a confirm without a message.
const defaultQuestion = "Go on?"

// compile returns the compiled hooks of a pipeline file and of the approvals of its nodes; nil for none. approvals are
// those of the nodes, by index.
func (f hookCompiler) compile(m dialect.Map, approvals []sources.Approval) []plan.Hook {
	written := f.readHooks(m)
	written[plan.PointStageEnd] = append(written[plan.PointStageEnd], approvalHooks(f.compiler, m, f.sources, approvals)...)
	var all []plan.Hook
	for _, point := range plan.HookPoints {
		all = append(all, written[point]...)
	}
	if len(all) > plan.MaxHooks {
		m.Errorf(m.Location(m.Get("hooks", "nodes", "stages")).Pos, yamldoc.CodeSize, "let one hook do more",
			"the pipeline has %d hooks, more than the %d allowed", len(all), plan.MaxHooks)
	}
	return numberHooks(all)
}

// numberHooks numbers the hooks from 1 and returns them.
func numberHooks(hooks []plan.Hook) []plan.Hook {
	for i := range hooks {
		hooks[i].Number = i + 1
	}
	return hooks
}

// readHooks reads the hooks under the key "hooks".
func (f hookCompiler) readHooks(m dialect.Map) map[plan.HookPoint][]plan.Hook {
	hooks := map[plan.HookPoint][]plan.Hook{}
	inner, ok := m.MapAt("hooks")
	if !ok {
		return hooks
	}
	inner.CheckKeys(&dialect.Hooks)
	for _, e := range inner.Node.Entries {
		if point := plan.HookPoint(e.Key); slices.Contains(plan.HookPoints, point) {
			hooks[point] = f.pointHooks(inner, point, e.KeyPos)
		}
	}
	return hooks
}

// pointHooks compiles the hooks of one point. Hooks of a session point in an embedded pipeline are dropped with a
// warning, because they are never called.
func (f hookCompiler) pointHooks(m dialect.Map, point plan.HookPoint, at yamldoc.Pos) []plan.Hook {
	items, _ := m.List(string(point))
	var hooks []plan.Hook
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.WrongItem(item, "a hook", "a map")
			continue
		}
		e := m.Nested(item, fmt.Sprintf("hook %d of %s", i+1, point))
		hooks = append(hooks, f.hook(e, point))
	}
	switch {
	case len(items) == 0:
	case isSessionPoint(point) && len(f.includeStack) > 1:
		m.Warnf(at, yamldoc.CodeNoEffect, "write it in the outermost pipeline", "%s has no effect in an embedded pipeline", point)
		return nil
	case isProviderPoint(point) && !slices.ContainsFunc(f.sources, func(a sources.Node) bool { return a.Has("parallel") }):
		m.Warnf(at, yamldoc.CodeNoEffect, "", "%s has no effect: the pipeline has no parallel block", point)
	}
	return hooks
}

// hook compiles one hook.
func (f hookCompiler) hook(e dialect.Map, point plan.HookPoint) plan.Hook {
	h := plan.Hook{Point: point, Source: e.At(e.Node.Pos).String()}
	e.Decode(&dialect.Hook, &h)
	h.Stage, h.Action = f.hookStage(e, h.Stage, point), f.actionName(e, h.Action)
	if h.Condition != "" {
		_, err := condition.Parse(h.Condition)
		sources.CheckCondition(e, err, e.Get("condition"), f.data)
	}
	kernelKeys := dialect.KernelActionKeys(h.Action)
	switch {
	case kernelKeys != nil:
		checkKernelAction(e, point, h.Action, kernelKeys)
	case h.Action != "":
		h.Config = otherMembers(e, dialect.Hook.Names())
		checkPluginAction(e, point)
	}
	if h.Action == plan.ActionConfirm && h.Message == "" {
		h.Message = defaultQuestion
	}
	return h
}

// actionName returns the canonical name of the hook's action. It returns "" and reports a fault if there is none.
func (f hookCompiler) actionName(e dialect.Map, name string) string {
	switch {
	case name == "": // already reported
	case dialect.KernelActionKeys(name) != nil:
		return name
	default:
		if canonical, ok := f.Catalog.HookAction(name); ok {
			return canonical
		}
		known := append(f.Catalog.HookActions(), plan.ActionPause, plan.ActionConfirm)
		e.Errorf(e.Get("action").Pos, yamldoc.CodeAction, f.missingHint(sdk.KindHookAction, name, known), "unknown hook action %q", name)
	}
	return ""
}

// checkKernelAction checks a hook with an action of the kernel.
func checkKernelAction(m dialect.Map, point plan.HookPoint, action string, own []string) {
	if point == plan.PointSessionEnd {
		m.Errorf(m.Get("action").Pos, yamldoc.CodeConflict, "write it at stage_end", "%s cannot %s: nothing is left to pause", m.Label, action)
	}
	noun := map[string]string{plan.ActionPause: "pause", plan.ActionConfirm: "question"}[action]
	for _, e := range m.Node.Entries {
		switch {
		case slices.Contains(own, e.Key) || strings.HasPrefix(e.Key, "x-"):
		case e.Key == "accept_feedback":
			m.Errorf(e.KeyPos, yamldoc.CodeConflict, "write action: confirm", "only a confirm takes feedback")
		case slices.Contains(dialect.Hook.Names(), e.Key):
			m.Errorf(e.KeyPos, yamldoc.CodeConflict, "remove it", "a %s has no %s: it waits for the user", noun, e.Key)
		default:
			hint := ""
			if near := nearest.Name(e.Key, own); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			m.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, hint, "unknown key %q in %s", e.Key, m.Label)
		}
	}
}

// checkPluginAction checks a hook with an action of a plugin.
func checkPluginAction(m dialect.Map, point plan.HookPoint) {
	if m.Has("accept_feedback") {
		m.Errorf(m.KeyPos("accept_feedback"), yamldoc.CodeConflict, "write action: confirm", "only a confirm takes feedback")
	}
	if point != plan.PointSessionEnd {
		return
	}
	for _, key := range []string{"on_timeout", "on_error"} {
		if word, at := m.Text(key); word == string(plan.FallbackPause) {
			m.Warnf(at.Pos, yamldoc.CodeNoEffect, "write "+key+": continue", "%s: pause has no effect at session_end: nothing is left to pause", key)
		}
	}
}

// otherMembers returns the members whose keys are neither known nor begin with x-, as a JSON object; nil for none.
func otherMembers(m dialect.Map, known []string) []byte {
	rest := yamldoc.Node{Kind: yamldoc.Map}
	for _, e := range m.Node.Entries {
		if !slices.Contains(known, e.Key) && !strings.HasPrefix(e.Key, "x-") {
			rest.Entries = append(rest.Entries, e)
		}
	}
	if len(rest.Entries) == 0 {
		return nil
	}
	return rest.JSON()
}
