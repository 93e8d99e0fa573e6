package dialect

// Stage is a stage.yaml.
var Stage = Object{
	Name: "stage", Doc: "A stage: an agent with a prompt, for nodes to run.",
	Keys: []Field{
		{Name: "name", Doc: "The name of the stage.", Holds: text(), Default: "that of its folder"},
		{Name: "description", Doc: "What it is for, for people.", Holds: text()},
		{Name: "termination", Doc: "When it is done.", Holds: in(&Termination)},
		{Name: "completion", Doc: "The old way to say type of termination.", Holds: oneOf(completions()...), only: completes(nil)},
		{Name: "consensus", Doc: "Beside completion: how many judgments in a row have to say stop.", Holds: count(), only: allOf(completes(nil), said("completion"))},
		{Name: "min_iterations", Doc: "Beside completion: the iterations before the first judgment.", Holds: count(), only: allOf(completes(nil), said("completion"))},
		{Name: "runs", Doc: "As a map, the old name of termination.", Holds: anything()},
		{Name: "provider", Doc: "Who does the work.", Holds: text(), Default: "that of the pipeline's defaults"},
		{Name: "model", Doc: "The provider's model.", Holds: text(), Default: "the provider's own"},
		{Name: "delay", Doc: "The pause between iterations.", Holds: pause(), Default: "that of the settings, else 3"},
		{Name: "check_before", Doc: "Of a stage that runs alone: the termination is asked before the first iteration, too.", Holds: flag(), Default: "false"},
		{Name: "output_path", Doc: "Where the result is to lie; `${SESSION}` is replaced.", Holds: text()},
		{Name: "context", Doc: "A text for `${CONTEXT}` in the prompt.", Holds: text()},
		{Name: "prompt", Doc: "The file of the prompt, from the stage's folder.", Holds: text(), Default: "prompts/prompt.md, then prompt.md"},
		{Name: "output_parse", Doc: "It has no effect.", Holds: anything()},
		{Name: "items", Doc: "It has no effect.", Holds: anything()},
		{Name: "guardrails", Doc: "The limit of running time of its nodes.", Holds: in(&Guardrails)},
		{Name: "commands", Doc: "Commands that agents find in their context, over those of the pipeline.", Holds: namesOf(text())},
		{Name: "tmux", Doc: "false: the stage does not need tmux.", Holds: anything()},
		{Name: "require_human_approval", Doc: "A person is asked after its nodes.", Holds: flag(), Default: "false"},
		{Name: "artifact", Doc: "What the work must come to.", Holds: in(&Artifact)},
		{Name: "role", Doc: "A word by which people are told of its work, such as planner.", Holds: id(), Default: "the node's id"},
		{Name: "requires", Doc: "Fields that its nodes must be handed, by the node that they come from; \"*\" is any, $input what the run starts with.", Holds: namesOf(fields())},
		{Name: "skip_when", Doc: "An expression over the artifact that a node is handed; where it holds, the node is skipped.", Holds: text()},
		{Name: "checks", Doc: "What is measured of the work, before the checks of the node itself.", Holds: listOf(in(&Check))},
		{Name: "wraps", Doc: "The stage is a pipeline, or a command.", Holds: in(&Wraps)},
	},
	rules: []schema{
		{"if": allOf(isMap("runs"), not(isMap("termination"))), "then": runsHolds(in(&Termination))},
		{"if": isMap("wraps"), "then": schema{"properties": schema{"wraps": said("pipeline", "run")}}},
	},
}
