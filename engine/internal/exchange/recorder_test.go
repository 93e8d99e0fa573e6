package exchange

import (
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

const token = "ghp_0123456789012345678901234567890123456789"

// A verdict from before a crash holds for the same call: both the journaled and the new arguments are redacted.
func TestAVerdictStandsForRedactedArguments(t *testing.T) {
	for _, args := range []string{`{"token":"hunter2","text":"` + token + `"}`, `{"big":"` + strings.Repeat("y", maxInline) + `","text":"` + token + `"}`} {
		s, _ := newStreamFile(t)
		r := &recorder{&effect.Effect{Env: &effect.Env{Dir: s.store, Redactor: redact.New(nil)}}, "attempts/01"}
		call := sdk.ToolCall{CallID: "1", Tool: "send", Args: []byte(args), Effect: sdk.EffectOnce}
		var intents [2]event.ToolCallData
		for i := range intents {
			var err error
			if intents[i], err = r.newIntent(call); err != nil {
				t.Fatal(err)
			}
		}
		intents[0].Verdict = string(sdk.VerdictRun)
		before := testkit.Must(event.Decode[event.ToolCallData](r.Event(event.ToolCall, intents[0])))
		if again := intents[1]; !decisionHolds(before, again) {
			t.Errorf("the verdict does not stand: %+v, %+v", before, again)
		}
		if strings.Contains(string(before.Args), token) {
			t.Errorf("the arguments are journaled as they are: %s", before.Args)
		}
		if before.ArgsRef == nil {
			continue
		}
		if text, err := s.store.ReadRef(*before.ArgsRef); err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s has the secret: %v", filepath.Base(before.ArgsRef.Path), err)
		}
	}
}
