package codex

import (
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

// FuzzStream: any output is read to its end. A verdict other than success has a failure, a failed turn is never a success,
// and each result has its call.
func FuzzStream(f *testing.F) {
	clitest.AddStreams(f)
	f.Fuzz(func(t *testing.T, text string) {
		x := &plugintest.Exchange{}
		s := newStream(x)
		final := false
		for line := range strings.Lines(text) {
			final = s.events.Line([]byte(line)) || final
		}
		if final != (s.completed || s.failed) {
			t.Errorf("final = %t, completed = %t, failed = %t", final, s.completed, s.failed)
		}
		outcome, failure := verdict(s, cliagent.End{Final: final})
		if (outcome == sdk.OutcomeSucceeded) != (failure == nil) {
			t.Errorf("outcome %q with failure %v", outcome, failure)
		}
		if s.failed && outcome == sdk.OutcomeSucceeded {
			t.Error("success in spite of a failed turn")
		}
		log := x.Record()
		for _, p := range log.Progress {
			if strings.Contains(p.Message, "\n") || utf8.RuneCountInString(p.Message) > 120 {
				t.Errorf("progress %q", p.Message)
			}
		}
		called := map[string]bool{}
		for _, call := range log.Observed {
			called[call.CallID] = true
		}
		for _, result := range log.ObservedResults {
			if !called[result.CallID] {
				t.Errorf("a result without its call %q", result.CallID)
			}
		}
		_, _ = s.output(sdk.PurposeWork), s.output(sdk.PurposeQuestion)
	})
}
