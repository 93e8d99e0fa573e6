package claude

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

// FuzzStream: any output is read to its end. A verdict other than success has a failure, and a reported error is never a
// success.
func FuzzStream(f *testing.F) {
	clitest.AddStreams(f)
	f.Fuzz(func(t *testing.T, text string) {
		x := &plugintest.Exchange{}
		s := newStream(x)
		final := false
		for line := range strings.Lines(text) {
			final = s.events.Line([]byte(line)) || final
		}
		if final != (s.final != nil) {
			t.Errorf("final = %t, result %+v", final, s.final)
		}
		outcome, failure := verdict(s, cliagent.End{Final: final}, time.Now())
		if (outcome == sdk.OutcomeSucceeded) != (failure == nil) {
			t.Errorf("outcome %q with failure %v", outcome, failure)
		}
		if s.final != nil && s.final.IsError && outcome == sdk.OutcomeSucceeded {
			t.Error("success in spite of an error")
		}
		for _, p := range x.Record().Progress {
			if strings.Contains(p.Message, "\n") || utf8.RuneCountInString(p.Message) > 200 {
				t.Errorf("progress %q", p.Message)
			}
		}
		_, _, _ = s.output(sdk.PurposeWork), s.output(sdk.PurposeQuestion), s.model()
	})
}
