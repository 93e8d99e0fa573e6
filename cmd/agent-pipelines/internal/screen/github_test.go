package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// In the log of GitHub Actions each node is a group, and a failure an annotation.
func TestGitHub(t *testing.T) {
	var out bytes.Buffer
	g, s := NewGitHub(&out, false), pipelineStory()
	g.WriteLine("Compiling plan.json...")
	g.Show(s.newUpdate(event.NodeStart, "0", 0, struct{}{}))
	g.Show(s.newUpdate(event.IterationComplete, "0", 1, event.IterationCompleteData{Summary: "::add-mask::x"}))
	fmt.Fprint(g, "[WARN] a\n::set-output name=x::y\n ##[error] b\n")
	g.Show(s.newUpdate(event.NodeComplete, "0", 0, event.NodeCompleteData{Status: "complete"}))
	g.Show(s.newUpdate(event.NodeStart, "1", 0, struct{}{}))
	s.state.Status, s.state.Failure = state.Failed, &event.FailureData{Message: "100% lost\nforever"}
	g.Show(s.newUpdate(event.NodeComplete, "1", 0, event.NodeCompleteData{Status: "failed"}))
	g.Show(s.newUpdate(event.NodeStart, "1", 0, struct{}{}))
	g.Close()
	g.Close()
	var commands []string
	for line := range strings.Lines(out.String()) {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "::") || strings.Contains(text, "##[") {
			commands = append(commands, text)
		}
	}
	want := []string{
		"::group::plan (mock)", "::endgroup::", "::group::work (claude, model opus)", "::endgroup::",
		"::error title=session 'demo' failed::100%25 lost forever", "::group::work (claude, model opus)", "::endgroup::",
	}
	compare(t, want, commands)
	for _, text := range []string{"Compiling plan.json...\n", "[WARN] a\n: :set-output name=x::y\n ## [error] b\n", ": :add-mask::x\n"} {
		require(t, strings.Contains(out.String(), text), text, out.String())
	}
}
