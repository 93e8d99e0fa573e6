package dialect

import "github.com/dodo-digital/agent-pipelines/kernel/plan"

// Pipeline is a pipeline file.
var Pipeline = Object{
	Name: "pipeline", Doc: "A pipeline: nodes that run one after the other, or along their edges.",
	Fields: []Field{
		{Name: "name", Doc: "The name of the pipeline.", Value: AnyText(), Required: true},
		{Name: "description", Doc: "A description for users.", Value: AnyText()},
		{Name: "inputs", Doc: "Files for every node: files, globs, or directories (all .md, .yaml, .json and .txt files below).", Value: Sequence(AnyText())},
		{Name: "commands", Doc: "Commands in the context of agents; they override those of the settings. `${COMMANDS.<key>}` is replaced by one.", Value: MapTo(AnyText())},
		{Name: "defaults", Doc: "Provider and model of nodes that name none.", Value: NestedObject(&Defaults)},
		{Name: "policy", Doc: "Limits and safety of the whole pipeline.", Value: NestedObject(&Policy)},
		{Name: "nodes", Doc: "The nodes in the order in which they run.", Value: Sequence(NestedObject(&Node))},
		{Name: "stages", Doc: "The old name of nodes.", Value: Sequence(NestedObject(&Node)), After: "nodes"},
		{Name: "hooks", Doc: "Hooks at the points of a run.", Value: NestedObject(&Hooks)},
		{Name: "guardrails", Doc: "The limit of running time of the run.", Value: NestedObject(&Guardrails)},
		{Name: "supervised", Doc: "Asks the user after every node but the last.", Value: boolean(), Default: "false"},
		{Name: "exit_after", Doc: "The id of the node after which the pipeline is complete.", Value: AnyText()},
		{Name: "tmux", Doc: "false, anywhere in the file: the pipeline does not need tmux.", Value: anything()},
	},
}

// Defaults are the defaults of nodes.
var Defaults = Object{
	Name: "defaults", Doc: "Defaults of nodes without provider or model.",
	Fields: []Field{
		{Name: "provider", Doc: "The provider of nodes and stages that name none.", Value: AnyText(), Default: "that of the settings, else claude"},
		{Name: "model", Doc: "Its model.", Value: AnyText(), Default: "the provider's own"},
	},
}

// Hooks are the hooks of a pipeline by point.
var Hooks = Object{
	Name: "hooks", Doc: "Hooks by the points of a run at which they are called, each a list in the order of the calls.",
	Fields: hookPointFields(), Unknown: Refused, KeyNoun: "hook point",
}

func hookPointFields() []Field {
	about := map[plan.HookPoint]string{
		plan.PointSessionStart: "Before the first node.", plan.PointSessionEnd: "When the run has ended.",
		plan.PointStageStart: "Before a node begins.", plan.PointStageEnd: "When a node has ended, before its edge is taken.",
		plan.PointIterationStart: "Before an iteration.", plan.PointIterationEnd: "After an iteration, before the termination is checked.",
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
		keys[i] = Field{Name: string(p), Doc: doc, Value: Sequence(NestedObject(&Hook))}
	}
	return keys
}

// Hook is one hook.
var Hook = Object{
	Name: "hook", Doc: "One hook: its condition and its action, with the keys of the action.",
	Fields: []Field{
		{Name: "stage", Doc: "The node, or the stage of a block, that the hook is for.", Value: AnyText(), Default: "all"},
		{Name: "condition", Doc: "An expression over status, iteration and so on; if it is false, the hook is skipped.", Value: AnyText()},
		{Name: "action", Doc: "pause, confirm, or the action of a plugin, such as webhook or script.", Value: AnyText(), Required: true},
		{Name: "message", Doc: "The message or question for the user.", Value: AnyText()},
		{Name: "accept_feedback", Doc: "Free text as the answer to a confirm sends the stage back with that text.", Value: boolean(), Default: "false"},
		{Name: "timeout", Doc: "How long a call of the action may take.", Value: seconds(), Default: "the action's own limit"},
		{Name: "on_timeout", Doc: "What happens when it takes longer.", Value: choice(fallbacks...)},
		{Name: "on_error", Doc: "What happens when it fails.", Value: choice(fallbacks...)},
	},
	Unknown: PassedOn,
}

var fallbacks = []plan.Fallback{plan.FallbackAbort, plan.FallbackContinue, plan.FallbackPause}

// KernelActionKeys returns the keys of a hook with an action of the kernel; nil for an action of a plugin.
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

// Stage is a stage.yaml.
var Stage = Object{
	Name: "stage", Doc: "A stage: an agent with a prompt, for nodes to run.",
	Fields: []Field{
		{Name: "name", Doc: "The name of the stage.", Value: AnyText(), Default: "that of its directory"},
		{Name: "description", Doc: "A description for users.", Value: AnyText()},
		{Name: "termination", Doc: "The condition under which it is done.", Value: NestedObject(&Termination)},
		{Name: "completion", Doc: "The old form of the type of termination.", Value: choice(completionWords()...)},
		{Name: "consensus", Doc: "With completion: how many consecutive judgments must decide to stop.", Value: count()},
		{Name: "min_iterations", Doc: "With completion: the iterations before the first judgment.", Value: count()},
		{Name: "runs", Doc: "The old name of termination, if the value is a map. Any other value has no effect.", Value: anything()},
		{Name: "provider", Doc: "The provider that does the work.", Value: AnyText(), Default: "that of the pipeline's defaults"},
		{Name: "model", Doc: "The provider's model.", Value: AnyText(), Default: "the provider's own"},
		{Name: "delay", Doc: "The pause between iterations.", Value: pause(), Default: "that of the settings, else 3"},
		{Name: "check_before", Doc: "Whether the termination is also checked before the first iteration; only for a stage that runs alone.", Value: boolean(), Default: "false"},
		{Name: "output_path", Doc: "The path of the result; `${SESSION}` is replaced.", Value: AnyText()},
		{Name: "context", Doc: "A text for `${CONTEXT}` in the prompt.", Value: AnyText()},
		{Name: "prompt", Doc: "The path of the prompt file, relative to the stage's directory.", Value: AnyText(), Default: "prompts/prompt.md, then prompt.md"},
		{Name: "output_parse", Doc: "It has no effect.", Value: anything()},
		{Name: "items", Doc: "It has no effect.", Value: anything()},
		{Name: "guardrails", Doc: "The limit of running time of its nodes.", Value: NestedObject(&Guardrails)},
		{Name: "commands", Doc: "Commands in the context of agents; they override those of the pipeline.", Value: MapTo(AnyText())},
		{Name: "tmux", Doc: "false: the stage does not need tmux.", Value: anything()},
		{Name: "require_human_approval", Doc: "Asks the user for approval after its nodes.", Value: boolean(), Default: "false"},
		{Name: "artifact", Doc: "The contract of the artifact.", Value: NestedObject(&Artifact)},
		{Name: "role", Doc: "The name of its work in messages, such as planner.", Value: idText(), Default: "the node's id"},
		{Name: "requires", Doc: "Required fields of the input artifact of its nodes, by the node that they come from; \"*\" is any node, $input the input of the run.", Value: MapTo(fieldNames()), Hint: fieldHint},
		{Name: "skip_when", Doc: "An expression over the input artifact; if it is true, the node is skipped.", Value: AnyText()},
		{Name: "checks", Doc: "Checks of the work, before those of the node itself.", Value: Sequence(NestedObject(&Check))},
		{Name: "wraps", Doc: "A pipeline or a command to run instead of an agent.", Value: NestedObject(&Wraps)},
	},
}
