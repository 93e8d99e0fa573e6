package dialect

import "github.com/dodo-digital/agent-pipelines/kernel/plan"

// Pipeline is a pipeline file.
var Pipeline = Object{
	Name: "pipeline", Doc: "A pipeline: nodes that run one after the other, or as their edges say.",
	Keys: []Field{
		{Name: "name", Doc: "The name of the pipeline.", Value: text(), Required: true},
		{Name: "description", Doc: "What it is for, for people.", Value: text()},
		{Name: "inputs", Doc: "Files given to every node: files, globs, or folders (all .md, .yaml, .json and .txt below).", Value: listOf(text())},
		{Name: "commands", Doc: "Commands that agents find in their context, over those of the settings; `${COMMANDS.<key>}` stands for one.", Value: mapOf(text())},
		{Name: "defaults", Doc: "Provider and model of nodes that name none.", Value: nested(&Defaults)},
		{Name: "policy", Doc: "Limits and safety of the whole pipeline.", Value: nested(&Policy)},
		{Name: "nodes", Doc: "The nodes in the order in which they run.", Value: listOf(nested(&Node))},
		{Name: "stages", Doc: "The old name of nodes.", Value: listOf(nested(&Node)), After: "nodes", condition: schema{"not": schema{"required": []any{"nodes"}}}},
		{Name: "hooks", Doc: "What happens at the points of a run.", Value: nested(&Hooks)},
		{Name: "guardrails", Doc: "The limit of running time of the run.", Value: nested(&Guardrails)},
		{Name: "supervised", Doc: "A person is asked after every node but the last.", Value: boolean(), Default: "false"},
		{Name: "exit_after", Doc: "The id of the node after which the pipeline is complete.", Value: text()},
		{Name: "tmux", Doc: "false, anywhere in the file: the pipeline does not need tmux.", Value: anything()},
	},
	rules: []schema{anyOf(present("nodes"), allOf(present("stages"), schema{"not": schema{"required": []any{"nodes"}}}))},
}

// Defaults are what holds for nodes that say nothing.
var Defaults = Object{
	Name: "defaults", Doc: "What holds for nodes that name no provider or model.",
	Keys: []Field{
		{Name: "provider", Doc: "The provider of nodes and stages that name none.", Value: text(), Default: "that of the settings, else claude"},
		{Name: "model", Doc: "Its model.", Value: text(), Default: "the provider's own"},
	},
}

// Guardrails limit running time.
var Guardrails = Object{
	Name: "guardrails", Doc: "A limit of running time, of a pipeline, a node or a stage.",
	Keys: []Field{{Name: "max_runtime_seconds", Doc: "How long it may run. Waiting for people does not count.", Value: seconds(), Default: "no limit"}},
}

// Hooks are the hooks of a pipeline by their points.
var Hooks = Object{
	Name: "hooks", Doc: "Hooks by the points of a run at which they are called, each a list in the order of the calls.",
	Keys: hookPointFields(), Unknown: Refused,
}

func hookPointFields() []Field {
	about := map[plan.HookPoint]string{
		plan.PointSessionStart: "Before the first node.", plan.PointSessionEnd: "When the run has ended.",
		plan.PointStageStart: "Before a node begins.", plan.PointStageEnd: "When a node has ended, before its edge is taken.",
		plan.PointIterationStart: "Before an iteration.", plan.PointIterationEnd: "After an iteration, before the termination is asked.",
	}
	keys := make([]Field, len(plan.HookPoints))
	for i, p := range plan.HookPoints {
		doc := about[p]
		switch {
		case doc != "":
		case i%2 == 0:
			doc = "Before a provider of a parallel block begins."
		default:
			doc = "When a provider of a parallel block has ended."
		}
		keys[i] = Field{Name: string(p), Doc: doc, Value: listOf(nested(&Hook))}
	}
	return keys
}

// Hook is one hook.
var Hook = Object{
	Name: "hook", Doc: "One hook: when, and what is done. The keys of the action itself stand beside these.",
	Keys: []Field{
		{Name: "stage", Doc: "The node, or the stage of a block, that the hook is for.", Value: text(), Default: "all"},
		{Name: "condition", Doc: "An expression over status, iteration and so on; where it does not hold, the hook is skipped.", Value: text()},
		{Name: "action", Doc: "pause, confirm, or the action of a plugin, such as webhook or script.", Value: text(), Required: true},
		{Name: "message", Doc: "What a person is told or asked.", Value: text()},
		{Name: "accept_feedback", Doc: "Free text as the answer to a confirm sends the stage back with it.", Value: boolean(), Default: "false"},
		{Name: "timeout", Doc: "How long a call of the action may take.", Value: seconds(), Default: "the action's own limit"},
		{Name: "on_timeout", Doc: "What happens when it takes longer.", Value: choice(fallbacks...)},
		{Name: "on_error", Doc: "What happens when it fails.", Value: choice(fallbacks...)},
	},
	Unknown: PassedOn,
	rules: []schema{
		{"if": withText("action", plan.ActionPause), "then": onlyKeys(KernelActionKeys(plan.ActionPause)...)},
		{"if": withText("action", plan.ActionConfirm), "then": onlyKeys(KernelActionKeys(plan.ActionConfirm)...)},
	},
}

var fallbacks = []plan.Fallback{plan.FallbackAbort, plan.FallbackContinue, plan.FallbackPause}

// KernelActionKeys are the keys of a hook with one of the kernel's own actions, nil for an action of a plugin.
func KernelActionKeys(action string) []string {
	switch action {
	case plan.ActionPause:
		return []string{"stage", "condition", "action", "message"}
	case plan.ActionConfirm:
		return []string{"stage", "condition", "action", "message", "accept_feedback"}
	default:
		return nil
	}
}
