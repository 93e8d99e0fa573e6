package dialect

// Stage is a stage.yaml.
var Stage = Object{
	Name: "stage", Doc: "A stage: an agent with a prompt, for nodes to run.",
	Keys: []Field{
		{Name: "name", Doc: "The name of the stage.", Value: text(), Default: "that of its folder"},
		{Name: "description", Doc: "What it is for, for people.", Value: text()},
		{Name: "termination", Doc: "When it is done.", Value: nested(&Termination)},
		{Name: "completion", Doc: "The old way to say type of termination.", Value: choice(completionWords()...), condition: usesCompletion(nil)},
		{Name: "consensus", Doc: "Beside completion: how many judgments in a row have to say stop.", Value: count(), condition: allOf(usesCompletion(nil), present("completion"))},
		{Name: "min_iterations", Doc: "Beside completion: the iterations before the first judgment.", Value: count(), condition: allOf(usesCompletion(nil), present("completion"))},
		{Name: "runs", Doc: "As a map, the old name of termination.", Value: anything()},
		{Name: "provider", Doc: "Who does the work.", Value: text(), Default: "that of the pipeline's defaults"},
		{Name: "model", Doc: "The provider's model.", Value: text(), Default: "the provider's own"},
		{Name: "delay", Doc: "The pause between iterations.", Value: pause(), Default: "that of the settings, else 3"},
		{Name: "check_before", Doc: "Of a stage that runs alone: the termination is asked before the first iteration, too.", Value: boolean(), Default: "false"},
		{Name: "output_path", Doc: "Where the result is to lie; `${SESSION}` is replaced.", Value: text()},
		{Name: "context", Doc: "A text for `${CONTEXT}` in the prompt.", Value: text()},
		{Name: "prompt", Doc: "The file of the prompt, from the stage's folder.", Value: text(), Default: "prompts/prompt.md, then prompt.md"},
		{Name: "output_parse", Doc: "It has no effect.", Value: anything()},
		{Name: "items", Doc: "It has no effect.", Value: anything()},
		{Name: "guardrails", Doc: "The limit of running time of its nodes.", Value: nested(&Guardrails)},
		{Name: "commands", Doc: "Commands that agents find in their context, over those of the pipeline.", Value: mapOf(text())},
		{Name: "tmux", Doc: "false: the stage does not need tmux.", Value: anything()},
		{Name: "require_human_approval", Doc: "A person is asked after its nodes.", Value: boolean(), Default: "false"},
		{Name: "artifact", Doc: "What the work must come to.", Value: nested(&Artifact)},
		{Name: "role", Doc: "A word by which people are told of its work, such as planner.", Value: idText(), Default: "the node's id"},
		{Name: "requires", Doc: "Fields that its nodes must be handed, by the node that they come from; \"*\" is any, $input what the run starts with.", Value: mapOf(fieldNames())},
		{Name: "skip_when", Doc: "An expression over the artifact that a node is handed; where it holds, the node is skipped.", Value: text()},
		{Name: "checks", Doc: "What is measured of the work, before the checks of the node itself.", Value: listOf(nested(&Check))},
		{Name: "wraps", Doc: "The stage is a pipeline, or a command.", Value: nested(&Wraps)},
	},
	rules: []schema{
		{"if": allOf(memberIsObject("runs"), not(memberIsObject("termination"))), "then": runsMatch(nested(&Termination))},
		{"if": memberIsObject("wraps"), "then": schema{"properties": schema{"wraps": present("pipeline", "run")}}},
	},
}
