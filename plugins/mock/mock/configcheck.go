package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decodeConfig decodes and checks a configuration.
func decodeConfig(raw json.RawMessage) (Config, error) {
	var c Config
	if err := config.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	var problems []string
	if c.DelayMS != nil && *c.DelayMS < 0 {
		problems = append(problems, "delay_ms must not be negative")
	}
	for i, reply := range c.Replies {
		for _, problem := range reply.check() {
			problems = append(problems, fmt.Sprintf("replies[%d]: %s", i, problem))
		}
	}
	return c, configError(problems)
}

// check returns the problems of the reply.
func (r Reply) check() []string {
	problems := append(r.Fault.check(), r.checkFiles()...)
	problems = append(problems, checkWord("at", r.At, atStart, atBeforeResult, atAfterResult)...)
	problems = append(problems, checkWord("purpose", r.Purpose, sdk.PurposeWork, sdk.PurposeQuestion)...)
	problems = append(problems, checkWord("outcome", r.Outcome, sdk.OutcomeSucceeded, sdk.OutcomeFailed, sdk.OutcomeEmpty,
		sdk.OutcomePermissionDenied, sdk.OutcomeRateLimited, sdk.OutcomeNeedsPerson, sdk.OutcomeInfrastructure)...)
	if r.Output != nil && r.OutputChunks != nil {
		problems = append(problems, "output and output_chunks exclude each other")
	}
	if r.ChunkDelayMS < 0 || r.OutputRepeat < 0 || r.Times < 0 {
		problems = append(problems, "chunk_delay_ms, output_repeat and times must not be negative")
	}
	if r.Spawn != nil {
		problems = append(problems, checkWord("spawn.kind", r.Spawn.Kind, spawnPlain, spawnSetsid)...)
	}
	for i, call := range r.ToolCalls {
		for _, problem := range call.check() {
			problems = append(problems, fmt.Sprintf("tool_calls[%d]: %s", i, problem))
		}
	}
	return problems
}

func (r Reply) checkFiles() []string {
	var problems, set []string
	for _, file := range []struct {
		key string
		set bool
	}{{"result", r.Result != nil}, {"status", r.Status != nil}, {"raw_result", r.RawResult != nil}, {"no_result", r.NoResult}} {
		if file.set {
			set = append(set, file.key)
		}
	}
	if len(set) > 1 {
		problems = append(problems, strings.Join(set, " and ")+" exclude each other")
	}
	if r.Artifact != nil && r.RawArtifact != nil {
		problems = append(problems, "artifact and raw_artifact exclude each other")
	}
	if r.ArtifactFile != "" && (r.Artifact != nil || r.RawArtifact != nil) {
		problems = append(problems, "artifact_file excludes artifact and raw_artifact")
	}
	if r.Artifact != nil && !isObject(r.Artifact) {
		problems = append(problems, "artifact must be an object (raw_artifact writes any text)")
	}
	if r.Result != nil && !isObject(r.Result) {
		problems = append(problems, "result must be an object (raw_result writes any text)")
	}
	if r.Status != nil && !isObject(r.Status) {
		problems = append(problems, "status must be an object")
	}
	return problems
}

// checkCrash returns a problem unless endProcess knows the crash.
func checkCrash(how string) []string { return checkWord("crash", how, "exit", "panic", "kill") }

// checkWord returns a problem if the value is set and not one of the words.
func checkWord[T ~string](key string, value T, words ...T) []string {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	known := make([]string, len(words))
	for i, word := range words {
		known[i] = string(word)
	}
	return []string{fmt.Sprintf("%s is %q, want one of %s", key, value, strings.Join(known, ", "))}
}

// configError returns one config_invalid error for all problems, nil for none.
func configError(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "config: %s", strings.Join(problems, "; "))
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
