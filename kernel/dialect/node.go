package dialect

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Node is a node of a pipeline.
var Node = Object{
	Name: "node", Doc: "A node: a stage or a prompt, a parallel block, an embedded pipeline, or a wrapped target.",
	Fields: slices.Concat(identityFields(), []Field{
		{Name: "pipeline", Doc: "A pipeline to run as one node.", Value: AnyText()},
		{Name: "parallel", Doc: "Stages that several providers run in parallel.", Value: NestedObject(&Block)},
	}, workFields(), []Field{
		{Name: "provider", Doc: "The provider that does the work.", Value: AnyText(), Default: "that of the stage, else of defaults"},
		{Name: "transitions", Doc: "The targets of the outcomes.", Value: NestedObject(&Transitions)},
		{Name: "requires", Doc: "Required fields of the input artifact, by the node that they come from; \"*\" is any node, $input the input of the run.", Value: MapTo(fieldNames()), Hint: fieldHint},
		{Name: "skip_when", Doc: "An expression over the input artifact; if it is true, the node is skipped.", Value: AnyText()},
		{Name: "steps", Doc: "The node runs once for each item of an earlier artifact.", Value: NestedObject(&Steps)},
		{Name: "wraps", Doc: "A pipeline or a command to run instead of an agent.", Value: NestedObject(&Wraps)},
	}),
}

// BlockStage is a stage of a parallel block.
var BlockStage = Object{
	Name: "block_stage", Doc: "A stage of a parallel block, which each provider of the block runs.",
	Fields: slices.Concat(identityFields(), workFields()),
}

// identityFields returns the keys for the id and the stage or prompt.
func identityFields() []Field {
	return []Field{
		{Name: "id", Doc: "Its name, which other keys refer to. It becomes part of a directory name.", Value: idText()},
		{Name: "name", Doc: "The old name of id.", Value: idText(), After: "id"},
		{Name: "stage", Doc: "The stage to run.", Value: AnyText()},
		{Name: "loop", Doc: "The old name of stage.", Value: AnyText(), After: "stage"},
		{Name: "prompt", Doc: "The prompt itself; beside stage it replaces the stage's prompt alone.", Value: AnyText()},
	}
}

// workFields returns the keys of nodes and stages of blocks that run a stage or a prompt.
func workFields() []Field {
	return []Field{
		{Name: "runs", Doc: "How many iterations, or how often a pipeline is run.", Value: Value{Type: Any, About: "whole number of at least 1"}, Default: "1"},
		{Name: "termination", Doc: "The condition under which the node is done.", Value: NestedObject(&Termination)},
		{Name: "completion", Doc: "The old form of the type of termination.", Value: choice(completionWords()...)},
		{Name: "consensus", Doc: "With completion: how many consecutive judgments must decide to stop.", Value: count()},
		{Name: "min_iterations", Doc: "With completion: the iterations before the first judgment.", Value: count()},
		{Name: "inputs", Doc: "The outputs of other nodes that the agent gets.", Value: NestedObject(&Inputs)},
		{Name: "model", Doc: "The provider's model.", Value: AnyText(), Default: "the provider's own"},
		{Name: "context", Doc: "A text for `${CONTEXT}` in the prompt.", Value: AnyText()},
		{Name: "description", Doc: "A description for users.", Value: AnyText()},
		{Name: "delay", Doc: "The pause between iterations.", Value: pause(), Default: "that of the settings, else 3"},
		{Name: "output_path", Doc: "The path of the result; `${SESSION}` is replaced.", Value: AnyText()},
		{Name: "guardrails", Doc: "The limit of running time of the node.", Value: NestedObject(&Guardrails)},
		{Name: "policy", Doc: "Limits of this node; they override the pipeline's, key by key.", Value: NestedObject(&Policy)},
		{Name: "tmux", Doc: "false: the pipeline does not need tmux.", Value: anything()},
		{Name: "require_human_approval", Doc: "Asks the user for approval after the node.", Value: boolean(), Default: "false"},
		{Name: "artifact", Doc: "The contract of the artifact.", Value: NestedObject(&Artifact)},
		{Name: "checks", Doc: "Checks of the work, outside of the agent.", Value: Sequence(NestedObject(&Check))},
	}
}

// completionTypes maps the values of completion to termination strategies.
var completionTypes = map[string]string{"fixed-n": plan.TypeFixed, "plateau": plan.TypeJudgment, "beads-empty": plan.TypeQueue}

// CompletionType returns the termination strategy of a value of completion.
func CompletionType(word string) (string, bool) {
	strategy, ok := completionTypes[word]
	return strategy, ok
}

func completionWords() []string { return []string{"beads-empty", "fixed-n", "plateau"} }

// Termination declares the keys of a node's termination map.
var Termination = Object{
	Name: "termination", Doc: "The condition under which a node is done, with the keys of its strategy.",
	Fields: []Field{
		{Name: "type", Doc: "The strategy: fixed, judgment, queue, checks, or one of a plugin.", Value: AnyText(), Default: "fixed"},
		{Name: "max", Doc: "The most iterations.", Value: count()},
		{Name: "iterations", Doc: "The same as max, which wins.", Value: count()},
		{Name: "min_iterations", Doc: "The iterations before the first judgment; type judgment only.", Value: count(), Default: "1"},
		{Name: "consensus", Doc: "How many consecutive judgments must decide to stop; type judgment only.", Value: count(), Default: "2"},
	},
	Unknown: PassedOn,
}

// Block is a parallel block.
var Block = Object{
	Name: "parallel", Doc: "Several providers; each runs all of the stages in its own directory, at the same time.",
	Fields: []Field{
		{Name: "providers", Doc: "The providers that run the stages.", Value: nonEmpty(Sequence(AnyOf(Value{Type: String, Pattern: nonEmptyPattern, About: "name"}, NestedObject(&BlockProvider)))), Required: true},
		{Name: "stages", Doc: "The stages that each provider runs, in order.", Value: nonEmpty(Sequence(NestedObject(&BlockStage))), Required: true},
		{Name: "failure_mode", Doc: "It is kept in the plan and has no effect.", Value: AnyText()},
	},
}

// BlockProvider is a provider of a block.
var BlockProvider = Object{
	Name: "block_provider", Doc: "A provider of a parallel block.",
	Fields: []Field{
		{Name: "name", Doc: "The provider.", Value: AnyText(), Required: true},
		{Name: "as", Doc: "Its name in the block, for a provider that is listed twice.", Value: AnyText(), Default: "its name"},
		{Name: "model", Doc: "Its model.", Value: AnyText(), Default: "that of the stage, else the provider's own"},
		{Name: "inputs", Doc: "The outputs of other nodes that all of its stages get.", Value: NestedObject(&Inputs)},
	},
}

// Inputs are the inputs of a node from other nodes.
var Inputs = Object{
	Name: "inputs", Doc: "The outputs of other nodes that the agent gets.",
	Fields: []Field{
		{Name: "from", Doc: "The id of an earlier node, or of an earlier stage of the same block.", Value: AnyText()},
		{Name: "select", Doc: "Its last output, or all of them.", Value: selectChoice(), Default: "latest"},
		{Name: "from_parallel", Doc: "The outputs of the providers of an earlier block for one of its stages.", Value: AnyOf(stageIDText(), NestedObject(&Source), Sequence(AnyOf(stageIDText(), NestedObject(&Source))))},
		{Name: "from_initial", Doc: "It has no effect: the initial inputs are always present.", Value: anything()},
	},
}

func stageIDText() Value { return Value{Type: Text, Pattern: nonEmptyPattern, About: "id of a stage"} }

// Source is a stage of an earlier block.
var Source = Object{
	Name: "from_parallel", Doc: "A stage of an earlier block.",
	Fields: []Field{
		{Name: "stage", Doc: "The id of the stage.", Value: AnyText(), Required: true},
		{Name: "block", Doc: "The id of the block.", Value: AnyText(), Default: "the first that has the stage"},
		{Name: "providers", Doc: "Some of the block's providers, in the requested order.", Value: nonEmpty(Sequence(AnyText())), Default: "all"},
		{Name: "select", Doc: "The last output of each, or all of them.", Value: selectChoice(), Default: "latest"},
	},
}

// Steps are the steps of a node.
var Steps = Object{
	Name: "steps", Doc: "Items of an earlier artifact; the node runs once for each.",
	Fields: []Field{
		{Name: "from", Doc: "The id of the node whose artifact holds them.", Value: AnyText(), Required: true},
		{Name: "path", Doc: "The path of the items in that artifact.", Value: Value{Type: String, Pattern: `[A-Za-z_][A-Za-z0-9_-]*(\[\*\])?(\.[A-Za-z_][A-Za-z0-9_-]*(\[\*\])?){0,9}\n*`, About: "path, as `tasks[*].steps[*]`"}, Required: true},
		{Name: "id", Doc: "The field of an item that is its id.", Value: AnyText()},
		{Name: "depends_on", Doc: "The field of an item that lists the ids of the items that come before it.", Value: AnyText()},
		{Name: "max_turns", Doc: "The most replies of the model in an attempt.", Value: count()},
		{Name: "parallel", Doc: "Steps that do not depend on each other run at the same time.", Value: boolean(), Default: "false"},
		{Name: "rerun", Doc: "The steps to run again when the node is entered again.", Value: choice("all", "failed"), Default: "failed"},
		{Name: "retry_by", Doc: "How often a failed step is repeated, by its action.", Value: MapTo(integer(0, MaxCount))},
	},
}

// Check is one check.
var Check = Object{
	Name: "check", Doc: "A check outside of the agent, with the keys of the hook action check.",
	Fields: []Field{
		{Name: "id", Doc: "Its name, unique in the node.", Value: textMatching(`[A-Za-z0-9._-]{1,64}`, "letters, digits, `.`, `-` and `_`, at most 64"), Required: true},
		{Name: "type", Doc: "file (file_exists), content (file_content), command, tests or delivery.", Value: AnyText(), Required: true},
		{Name: "at", Doc: "Whether the check runs after the work or before it.", Value: choice(plan.AtEnter, plan.AtExit), Default: "exit"},
		{Name: "run", Doc: "The command, for types with one; command is the same.", Value: anything()},
		{Name: "files_from", Doc: "The field of the input artifact with the paths that the command gets as arguments.", Value: AnyText()},
		{
			Name: "test_first", Doc: "Measures one part of a test-first development: the tests before it, the failing tests, the code, the cleaned code, or a fix.",
			Value: choice(plan.TestFirstBase, plan.TestFirstRed, plan.TestFirstGreen, plan.TestFirstRefactor, plan.TestFirstFix),
		},
		{Name: "test_files", Doc: "Patterns of test files, where those of the languages do not suffice.", Value: Sequence(AnyText())},
		{Name: "support_files", Doc: "Patterns of other files that may be added with failing tests, such as fixtures.", Value: Sequence(AnyText())},
		{Name: "max_pass_ratio", Doc: "The share of the new tests that may pass without the code.", Value: Value{Type: Number, Least: bound(0), Most: bound(1)}, Default: "0"},
		{Name: "optional", Doc: "Leaves the check out if a command that it references is missing.", Value: boolean(), Default: "false"},
		{Name: "timeout", Doc: "How long it may take.", Value: seconds(), Default: "the action's own limit"},
	},
	Unknown: PassedOn,
}

// KernelCheckKeys returns the keys of a check that the kernel reads itself. The hook action gets all others.
func KernelCheckKeys() []string {
	return []string{"id", "at", "files_from", "optional", "timeout", "test_first", "test_files", "support_files", "max_pass_ratio"}
}

// Transitions are the edges of a node by its outcomes.
var Transitions = Object{
	Name: "transitions", Doc: "The targets of a node's outcomes: the id of a node, or next, done, retry, pause, abort or failed.",
	Fields: transitionFields(), Unknown: RefusedAll, KeyNoun: "outcome",
}

func transitionFields() []Field {
	keys := make([]Field, len(outcomes))
	for i, o := range outcomes {
		target := textMatching(nonEmptyPattern, "id of a node, or a keyword")
		keys[i] = Field{Name: string(o.outcome), Doc: "The target when " + o.when + ".", Value: notNull(AnyOf(target, NestedObject(&Edge)))}
	}
	return keys
}

// Edge is the map form of an edge; its short form is the target alone.
var Edge = Object{
	Name: "edge", Doc: "An edge with more than its target.",
	Fields: []Field{
		{Name: "to", Doc: "The target: the id of a node, or next, done, retry, pause, abort or failed.", Value: AnyText(), Required: true},
		{Name: "limit", Doc: "How often it may be taken, for edges that lead back.", Value: integer(1, plan.MaxCycles), Default: "`policy.cycles.default`", Hint: "an edge may be taken 1 to 10 times"},
		{Name: "feedback", Doc: "The field of the node's artifact that the target gets.", Value: AnyText()},
		{Name: "on_limit", Doc: "What happens when the limit is reached.", Value: limitChoice(), Default: "`policy.escalation.on_limit`"},
	},
}

// Wraps is the wrapped target of a node or a stage.
var Wraps = Object{
	Name: "wraps", Doc: "A pipeline or a command to run instead of an agent, with the mapping of fields to its inputs and outputs.",
	Fields: []Field{
		{Name: "pipeline", Doc: "The name of a pipeline; this or run.", Value: AnyText()},
		{Name: "run", Doc: "A command for sh -c, in the project.", Value: AnyText()},
		{Name: "input_mapping", Doc: "Inputs, each with its field of the input artifact.", Value: Value{Type: MapOf, Item: &mappedInput, NoEmptyKey: true}, Default: "all fields, as they are"},
		{Name: "output_mapping", Doc: "Outputs, each with the field of the artifact that it becomes; null for the same name.", Value: Value{Type: MapOf, Item: &mappedOutput, PassThrough: true, NoEmptyKey: true}, Default: "all, as they are"},
		{Name: "defaults", Doc: "Defaults of inputs that the input artifact lacks.", Value: MapTo(anything())},
	},
	Unknown: Refused,
}

var (
	mappedInput  = textMatching(nonEmptyPattern, "field")
	mappedOutput = textMatching(`[^.]*`, "field")
)
