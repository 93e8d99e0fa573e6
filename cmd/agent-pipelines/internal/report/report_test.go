package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/report"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// collect returns the collector of a session with one node. Each iteration has a failed attempt, a decision and a
// question, all with hostile texts.
func collect(iterations int, redact func(string) string) *report.Collector {
	line := timeline.New(&plan.Plan{})
	c := report.NewCollector(line, redact)
	now, seq := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	add := func(t event.Type, iteration int, data any) {
		now = now.Add(time.Second)
		seq++
		at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: iteration}
		e := event.New(t, at.Cursor(), at.Key(event.KeyAttempt, 1), data)
		e.Time, e.RunID, e.Epoch, e.Seq = now, "PL-1", 1, int64(seq)
		entry, _ := line.Apply(e)
		c.Observe(entry)
	}
	in, out, usd := int64(100), int64(10), 0.01
	used := &event.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &usd}
	add(event.SessionStart, 0, event.SessionStartData{Mode: "loop"})
	add(event.KernelStart, 0, event.KernelStartData{PID: 1})
	add(event.NodeStart, 0, event.NodeStartData{Name: hostile})
	for i := 1; i <= iterations; i++ {
		add(event.IterationStart, i, event.IterationStartData{Stage: "work", Model: hostile})
		add(event.Error, i, event.FailureData{Code: hostile, ErrorType: hostile, Message: hostile, Remedy: hostile})
		add(event.Retry, i, event.RetryData{Rung: event.RungAttempt, N: 2, Max: 2})
		add(event.IterationComplete, i, event.IterationCompleteData{Summary: hostile, Settlement: event.Settlement{Outcome: hostile, Message: hostile}, Usage: used, Output: &event.Ref{Path: fmt.Sprint(i)}})
		add(event.Decision, i, event.DecisionData{Strategy: hostile, Action: "continue", Reason: hostile})
		add(event.QuestionAsked, i, event.QuestionAskedData{ID: fmt.Sprint("q-", i, hostile), Kind: hostile, Text: hostile, Code: hostile})
		add(event.QuestionAnswered, i, event.QuestionAnsweredData{ID: fmt.Sprint("q-", i, hostile), Answer: hostile, By: hostile, Text: hostile})
	}
	add(event.NodeComplete, 0, event.NodeCompleteData{Outcome: hostile})
	return c
}

// hostile is a text that breaks out of any place of a page where it is not escaped.
const hostile = `</td></pre></style></title><script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover="alert(3)` + "\x1b[2J\u202e"

func facts(read func(string, int64) (string, bool, error)) report.Facts {
	return report.Facts{
		Status: &engine.Status{Identity: inspect.Identity{Session: hostile, Status: state.Completed}, Pause: inspect.Pause{Reason: hostile}, Results: inspect.Results{Stages: []inspect.StageResult{{ID: hostile, Path: "0", Status: "complete", Outcome: hostile, Reason: hostile}}}},
		Why:    why.Explanation{Text: hostile, More: []string{hostile}, Next: []why.Command{{Line: hostile, Does: hostile}}, Chain: []why.Cause{{Text: hostile}}},
		Artifacts: []report.Artifact{
			{Node: hostile, Type: hostile, File: hostile, Text: hostile, Cut: true}, {Node: "b", Problem: hostile},
		},
		Read: read, Agent: unchanged, Version: hostile,
	}
}

func page(t *testing.T, c *report.Collector, f report.Facts) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A message of an agent or of the user stays a text.
func TestEscapes(t *testing.T) {
	c := collect(3, unchanged)
	text := page(t, c, facts(func(path string, _ int64) (string, bool, error) { return hostile + "\n" + path, true, nil }))
	for _, bad := range []string{"<script", "<img", `" onmouseover`, "\x1b", "\u202e"} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%q is in the page: %q", bad, text[max(0, i-100):i+40])
		}
	}
	if strings.Count(text, "&lt;script&gt;alert(1)&lt;/script&gt;") < 30 {
		t.Error("the texts are missing")
	}
}

// Every text passes the redaction of secrets.
func TestSecrets(t *testing.T) {
	clean := func(text string) string { return strings.ReplaceAll(text, "alert", "[out]") }
	c := collect(3, clean)
	f := facts(func(string, int64) (string, bool, error) { return "alert", true, nil })
	f.Agent = clean
	f.Status.Session, f.Version, f.Artifacts = "s", "1", nil
	f.Status.Stages[0] = inspect.StageResult{ID: "work", Path: "0", Status: "complete", Outcome: "success", Reason: hostile}
	f.Why.Next = nil
	f.Why.Chain = f.Why.Chain[:1]
	text := page(t, c, f)
	for _, section := range []string{"failures", "iterations", "outputs", "why"} {
		if !strings.Contains(text, `id="`+section+`"`) {
			t.Errorf("no section %s", section)
		}
	}
	if !strings.Contains(text, "[out](1)") {
		t.Error("nothing was taken out")
	}
	if i := strings.Index(text, "onerror=alert"); i >= 0 {
		t.Errorf("left in: %q", text[max(0, i-300):i+40])
	}
}

// A session of any length makes a page of limited size that reports the omitted rows.
func TestBounded(t *testing.T) {
	c := collect(20_000, unchanged)
	long := strings.Repeat("a line of an output\n", 2000)
	f := facts(func(string, int64) (string, bool, error) { return long, false, nil })
	f.ArtifactsLeft = 1900
	text := page(t, c, f)
	if len(text) > 6<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	for _, want := range []string{"19,000 in the middle are left out", "900 earlier iterations", "200 earlier failures", "… more is left out", "Those of ", "1,900 more are left out; <code>agent-pipelines artifacts "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said", want)
		}
	}
}

// The page reports an unreadable output in its place, and a session without events has a page.
func TestMissingParts(t *testing.T) {
	c := collect(1, unchanged)
	if text := page(t, c, facts(func(string, int64) (string, bool, error) { return "", false, errors.New("it is gone") })); !strings.Contains(text, "it is gone") {
		t.Error("a lost output is not reported")
	}
	if text := page(t, report.NewCollector(timeline.New(&plan.Plan{}), unchanged), report.Facts{Status: &engine.Status{Identity: inspect.Identity{Session: "s"}}}); !strings.Contains(text, "never began") {
		t.Error("a session that never began is not reported")
	}
}

func unchanged(text string) string { return text }
