package dialect

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Keys of a node that count for some kinds of nodes alone; elsewhere they are passed over with a warning.
var worksItself = not(said("parallel", "pipeline"))

// Node is a node of a pipeline.
var Node = Object{
	Name: "node", Doc: "A node: a stage or a prompt, several providers side by side, a pipeline within the pipeline, or something that it wraps.",
	Keys: slices.Concat(identity(), []Field{
		{Name: "pipeline", Doc: "A pipeline to run as one node.", Holds: text()},
		{Name: "parallel", Doc: "Stages that several providers run side by side.", Holds: in(&Block)},
	}, work(), []Field{
		{Name: "provider", Doc: "Who does the work.", Holds: text(), Default: "that of the stage, else of defaults", only: worksItself},
		{Name: "transitions", Doc: "Where an outcome leads.", Holds: in(&Transitions)},
		{Name: "requires", Doc: "Fields that the node must be handed, by the node that they come from; \"*\" is any, $input what the run starts with.", Holds: namesOf(fields())},
		{Name: "skip_when", Doc: "An expression over the artifact that the node is handed; where it holds, the node is skipped.", Holds: text()},
		{Name: "steps", Doc: "The node runs once for each item of an earlier artifact.", Holds: in(&Steps)},
		{Name: "wraps", Doc: "The node is another pipeline, or a command.", Holds: in(&Wraps)},
	}),
	rules: append([]schema{
		said("id", "name"),
		anyOf(said("stage", "loop", "prompt"), said("parallel"), said("pipeline"), said("wraps")),
		{"if": said("parallel"), "then": without("stage", "loop", "prompt", "pipeline", "artifact", "checks", "steps")},
		{"if": said("pipeline"), "then": allOf(without("stage", "loop", "prompt", "parallel", "artifact", "checks", "steps"), runsHolds(count()))},
		{"if": allOf(isMap("wraps"), member("wraps", said("pipeline"))), "then": runsHolds(count())},
	}, iterating(worksItself)...),
}

// BlockStage is a stage of a parallel block.
var BlockStage = Object{
	Name: "block_stage", Doc: "A stage of a parallel block, which each provider of the block runs.",
	Keys: slices.Concat(identity(), work()),
	rules: append([]schema{
		said("id", "name"), said("stage", "loop", "prompt"), without(notInBlocks...),
	}, iterating(nil)...),
}

var notInBlocks = []string{"provider", "parallel", "pipeline", "transitions", "steps", "wraps", "requires", "skip_when"}

// identity are the keys that say what is run.
func identity() []Field {
	return []Field{
		{Name: "id", Doc: "Its name, which other keys refer to. It becomes part of a directory name.", Holds: id()},
		{Name: "name", Doc: "The old name of id.", Holds: id(), After: "id"},
		{Name: "stage", Doc: "The stage to run.", Holds: text()},
		{Name: "loop", Doc: "The old name of stage.", Holds: text(), After: "stage"},
		{Name: "prompt", Doc: "The prompt itself; beside stage it stands for the stage's prompt, and the rest of the stage stays.", Holds: text()},
	}
}

// work are the keys of whatever runs a stage or a prompt.
func work() []Field {
	return []Field{
		{Name: "runs", Doc: "How many iterations, or how often a pipeline is run.", Holds: Value{Type: Any, About: "whole number of at least 1"}, Default: "1"},
		{Name: "termination", Doc: "When the node is done.", Holds: in(&Termination), only: worksItself},
		{Name: "completion", Doc: "The old way to say type of termination.", Holds: oneOf(completions()...), only: completes(worksItself)},
		{Name: "consensus", Doc: "Beside completion: how many judgments in a row have to say stop.", Holds: count(), only: allOf(completes(worksItself), said("completion"))},
		{Name: "min_iterations", Doc: "Beside completion: the iterations before the first judgment.", Holds: count(), only: allOf(completes(worksItself), said("completion"))},
		{Name: "inputs", Doc: "What of other nodes the agent gets.", Holds: in(&Inputs)},
		{Name: "model", Doc: "The provider's model.", Holds: text(), Default: "the provider's own", only: worksItself},
		{Name: "context", Doc: "A text for `${CONTEXT}` in the prompt.", Holds: text(), only: worksItself},
		{Name: "description", Doc: "What it is for, for people.", Holds: text()},
		{Name: "delay", Doc: "The pause between iterations.", Holds: pause(), Default: "that of the settings, else 3", only: worksItself},
		{Name: "output_path", Doc: "Where the result is to lie; `${SESSION}` is replaced.", Holds: text(), only: worksItself},
		{Name: "guardrails", Doc: "The limit of running time of the node.", Holds: in(&Guardrails)},
		{Name: "policy", Doc: "Limits of this node; they go before the pipeline's, member by member.", Holds: in(&Policy)},
		{Name: "tmux", Doc: "false: the pipeline does not need tmux.", Holds: anything()},
		{Name: "require_human_approval", Doc: "A person is asked after the node.", Holds: flag(), Default: "false"},
		{Name: "artifact", Doc: "What the work must come to.", Holds: in(&Artifact)},
		{Name: "checks", Doc: "What is measured of the work, outside the agent.", Holds: listOf(in(&Check))},
	}
}

// id is a name that becomes part of a directory name.
func id() Value {
	return Value{Type: Text, Pattern: `[^/\\\x00-\x1f\x7f-\x{9f}]{0,128}`, About: "text without slashes, at most 128 bytes"}
}

func pause() Value {
	return Value{Type: Number, Least: bound(0), About: "seconds, at least 0"}
}

// completes are the maps that say in the old way when they are done.
func completes(of schema) schema {
	return allOf(of, not(anyOf(isMap("termination"), isMap("runs"))))
}

// iterating are the rules for runs, which may be a termination under another name.
func iterating(of schema) []schema {
	return []schema{
		{
			"if":   allOf(of, isMap("runs"), not(isMap("termination"))),
			"then": runsHolds(in(&Termination)),
			"else": schema{"if": allOf(of, not(isMap("runs"))), "then": runsHolds(either(count(), Value{Type: String}))},
		},
	}
}

// completionTypes are the strategies that the old words stand for.
var completionTypes = map[string]string{"fixed-n": plan.TypeFixed, "plateau": plan.TypeJudgment, "beads-empty": plan.TypeQueue}

// CompletionType is the strategy that a word of completion stands for.
func CompletionType(word string) (string, bool) {
	strategy, ok := completionTypes[word]
	return strategy, ok
}

func completions() []string { return []string{"beads-empty", "fixed-n", "plateau"} }

// Termination says when a node is done.
var Termination = Object{
	Name: "termination", Doc: "When a node is done. Keys beside these are the strategy's own.",
	Keys: []Field{
		{Name: "type", Doc: "The strategy: fixed, judgment, queue, checks, or one of a plugin.", Holds: text(), Default: "fixed"},
		{Name: "max", Doc: "The most iterations.", Holds: count()},
		{Name: "iterations", Doc: "The same, for where max is not said.", Holds: count()},
		{Name: "min_iterations", Doc: "Of judgment: the iterations before the first judgment.", Holds: count(), Default: "1"},
		{Name: "consensus", Doc: "Of judgment: how many judgments in a row have to say stop.", Holds: count(), Default: "2"},
	},
	Other: Handed,
}

// Block is a parallel block.
var Block = Object{
	Name: "parallel", Doc: "Several providers, each of which runs all of the stages in a folder of its own, at the same time.",
	Keys: []Field{
		{Name: "providers", Doc: "Who runs the stages.", Holds: filled(listOf(either(Value{Type: String, Pattern: somePattern, About: "name"}, in(&BlockProvider)))), Required: true},
		{Name: "stages", Doc: "What each of them runs, one after the other.", Holds: filled(listOf(in(&BlockStage))), Required: true},
		{Name: "failure_mode", Doc: "It is kept in the plan and has no effect.", Holds: text()},
	},
}

// BlockProvider is a provider of a block.
var BlockProvider = Object{
	Name: "block_provider", Doc: "A provider of a parallel block.",
	Keys: []Field{
		{Name: "name", Doc: "The provider.", Holds: text(), Required: true},
		{Name: "as", Doc: "The name that it has in the block, for one that stands there twice.", Holds: text(), Default: "its name"},
		{Name: "model", Doc: "Its model.", Holds: text(), Default: "that of the stage, else the provider's own"},
		{Name: "inputs", Doc: "What of other nodes all of its stages get.", Holds: in(&Inputs)},
	},
}

// Inputs are what a node gets of others.
var Inputs = Object{
	Name: "inputs", Doc: "What of other nodes the agent gets.",
	Keys: []Field{
		{Name: "from", Doc: "The id of an earlier node, or of an earlier stage of the same block.", Holds: text()},
		{Name: "select", Doc: "Its last output, or all of them.", Holds: selection(), Default: "latest"},
		{Name: "from_parallel", Doc: "What the providers of an earlier block left in one of its stages.", Holds: either(named(), in(&Source), listOf(either(named(), in(&Source))))},
		{Name: "from_initial", Doc: "It has no meaning: the initial inputs are always there.", Holds: anything()},
	},
}

func selection() Value { return oneOf("all", "history", "latest") }

func named() Value { return Value{Type: Text, Pattern: somePattern, About: "id of a stage"} }

// Source is a stage of an earlier block.
var Source = Object{
	Name: "from_parallel", Doc: "A stage of an earlier block.",
	Keys: []Field{
		{Name: "stage", Doc: "The id of the stage.", Holds: text(), Required: true},
		{Name: "block", Doc: "The id of the block.", Holds: text(), Default: "the first that has the stage"},
		{Name: "providers", Doc: "Some of the block's providers, in the order that is wanted.", Holds: filled(listOf(text())), Default: "all"},
		{Name: "select", Doc: "The last output of each, or all of them.", Holds: selection(), Default: "latest"},
	},
}

// Steps are the steps of a node.
var Steps = Object{
	Name: "steps", Doc: "The items of an earlier artifact, for each of which the node runs once.",
	Keys: []Field{
		{Name: "from", Doc: "The id of the node whose artifact holds them.", Holds: text(), Required: true},
		{Name: "path", Doc: "Where they are in it.", Holds: Value{Type: String, Pattern: `[A-Za-z_][A-Za-z0-9_-]*(\[\*\])?(\.[A-Za-z_][A-Za-z0-9_-]*(\[\*\])?){0,9}\n*`, About: "path, as `tasks[*].steps[*]`"}, Required: true},
		{Name: "id", Doc: "The field of an item that is its id.", Holds: text()},
		{Name: "depends_on", Doc: "The field of an item that lists the ids of those which come before it.", Holds: text()},
		{Name: "max_turns", Doc: "The most replies of the model in an attempt.", Holds: count()},
		{Name: "parallel", Doc: "Steps that do not depend on each other run at the same time.", Holds: flag(), Default: "false"},
		{Name: "rerun", Doc: "What is done again when the node is entered once more.", Holds: oneOf("all", "failed"), Default: "failed"},
		{Name: "retry_by", Doc: "How often a step is tried again, by its action.", Holds: namesOf(within(0, most))},
	},
}

// Check is something that is measured.
var Check = Object{
	Name: "check", Doc: "Something that is measured outside the agent. Keys beside these are those of the hook action check.",
	Keys: []Field{
		{Name: "id", Doc: "Its name, unique in the node.", Holds: matching(`[A-Za-z0-9._-]{1,64}`, "letters, digits, `.`, `-` and `_`, at most 64"), Required: true},
		{Name: "type", Doc: "file (file_exists), content (file_content), command or tests.", Holds: text(), Required: true},
		{Name: "at", Doc: "After the work, or before it.", Holds: oneOf(plan.AtEnter, plan.AtExit), Default: "exit"},
		{Name: "run", Doc: "The command, of types that have one; command is the same.", Holds: anything()},
		{Name: "files_from", Doc: "The field of the input artifact with the paths that the command gets as arguments.", Holds: text()},
		{Name: "optional", Doc: "The check is left out where a command that it names is not known.", Holds: flag(), Default: "false"},
		{Name: "timeout", Doc: "How long it may take.", Holds: seconds(), Default: "the action's own limit"},
	},
	Other: Handed,
	rules: []schema{not(allOf(said("run"), said("command")))},
}

// OwnCheckKeys are the keys of a check that are not handed to the action.
func OwnCheckKeys() []string { return []string{"id", "at", "files_from", "optional", "timeout"} }

// outcomes are all there are, each with the time at which a node has it.
var outcomes = []struct {
	outcome plan.Outcome
	when    string
}{
	{plan.OutcomeSuccess, "all is well"},
	{plan.OutcomeFail, "measured or judged to be wrong"},
	{plan.OutcomeReject, "a reviewer says no"},
	{plan.OutcomeRetry, "it is to be tried again"},
	{plan.OutcomeTimeout, "it took too long"},
	{plan.OutcomeError, "something went wrong"},
	{plan.OutcomeEscalate, "a person is needed"},
	{plan.OutcomeSkip, "it had nothing to do"},
	{plan.OutcomeBudget, "a limit of tokens or cost was reached"},
}

func outcomeWords() []plan.Outcome {
	words := make([]plan.Outcome, len(outcomes))
	for i, o := range outcomes {
		words[i] = o.outcome
	}
	return words
}

// Transitions are the edges of a node by its outcomes.
var Transitions = Object{
	Name: "transitions", Doc: "Where the outcomes of a node lead: the id of a node, or next, done, retry, pause, abort or failed.",
	Keys: edges(), Other: RefusedAll,
}

func edges() []Field {
	keys := make([]Field, len(outcomes))
	for i, o := range outcomes {
		target := matching(somePattern, "id of a node, or a word")
		keys[i] = Field{Name: string(o.outcome), Doc: "Where it leads when " + o.when + ".", Holds: valued(either(target, in(&Edge)))}
	}
	return keys
}

// limits are what may happen at a limit.
func limits() Value { return oneOf(plan.ToAbort, plan.ToFailed, plan.ToPause) }

// Edge is the long form of a transition.
var Edge = Object{
	Name: "edge", Doc: "An edge that says more than where it leads.",
	Keys: []Field{
		{Name: "to", Doc: "Where it leads: the id of a node, or next, done, retry, pause, abort or failed.", Holds: text(), Required: true},
		{Name: "limit", Doc: "How often it may be taken, of edges that lead back.", Holds: within(1, plan.MaxCycles), Default: "`policy.cycles.default`"},
		{Name: "feedback", Doc: "The field of the node's artifact that the target is told.", Holds: text()},
		{Name: "on_limit", Doc: "What happens after that.", Holds: limits(), Default: "`policy.escalation.on_limit`"},
	},
}

// Wraps is what a node or a stage wraps.
var Wraps = Object{
	Name: "wraps", Doc: "What the node is instead of an agent's work: a pipeline, or a command, and how fields become its inputs and outputs.",
	Keys: []Field{
		{Name: "pipeline", Doc: "The name of a pipeline; this or run.", Holds: text()},
		{Name: "run", Doc: "A command for sh -c, in the project.", Holds: text()},
		{Name: "input_mapping", Doc: "Inputs, each with the field of what the node is handed that it comes from.", Holds: Value{Type: Named, Item: &mappedInput, NoBlank: true}, Default: "all fields, as they are"},
		{Name: "output_mapping", Doc: "Outputs, each with the field of the artifact that it becomes; null for the same name.", Holds: Value{Type: Named, Item: &mappedOutput, PassThrough: true, NoBlank: true}, Default: "all, as they are"},
		{Name: "defaults", Doc: "Inputs for what the node is not handed.", Holds: namesOf(anything())},
	},
	Other: Refused,
	rules: []schema{not(allOf(said("pipeline"), said("run")))},
}

var (
	mappedInput  = matching(somePattern, "field")
	mappedOutput = matching(`[^.]*`, "field")
)
