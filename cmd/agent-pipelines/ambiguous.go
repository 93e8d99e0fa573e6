package main

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// bashVerbs are the words that were no stages for the Bash engine either. All other verbs may be names of stages in its
// projects, which were started by them.
var bashVerbs = []string{"loop", "pipeline", "list", "runs", "lint", "dry-run", "test", "status", "tail", "help"}

// ambiguous refuses a first word that is a verb and also the name of one of the user's stages: what ran the stage with the
// Bash engine would do something else here. --verb says that the verb is meant.
func (a *app) ambiguous(verb string) error {
	if a.Verb || slices.Contains(bashVerbs, verb) || !slices.Contains(commandNames(a.parser.Model.Node), verb) || verb == stageCommand {
		return nil
	}
	file, found := engine.FindStage(a.getenv("PROJECT_ROOT"), a.getenv("AGENT_PIPELINES_ROOT"), verb)
	if !found {
		return nil
	}
	meant := fmt.Sprintf("`%s %s --verb …` is the verb", program, verb)
	if slices.Contains([]string{pipelineDesign, pipelineImplement, pipelineFix}, verb) {
		meant = fmt.Sprintf("`%s start %s \"<request>\"` the pipeline", program, verb)
	}
	return usageError(fmt.Sprintf("'%s' is a verb, and a stage of this project (%s)", verb, file), "`%s loop %s` runs the stage, %s", program, verb, meant)
}
