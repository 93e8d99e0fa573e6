package main

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/testdata/collector"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// collectors maps the working directories of scripts to their collectors.
type collectors struct{ all sync.Map }

// collect is "collect grpc|http|hang": it starts a collector and sets the environment for it, until the script ends.
func (c *collectors) collect(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collect grpc|http|hang")
	}
	start, protocol := collector.New, "http/protobuf"
	switch args[0] {
	case "grpc":
		protocol = "grpc"
	case "hang":
		start = collector.NewHanging
	}
	made, err := start()
	ts.Check(err)
	ts.Defer(made.Close)
	endpoint := made.HTTP
	if protocol == "grpc" {
		endpoint = made.GRPC
	}
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	ts.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	c.all.Store(ts.Getenv("WORK"), made)
}

func (c *collectors) start(ts *testscript.TestScript) *collector.Collector {
	made, _ := c.all.Load(ts.Getenv("WORK"))
	found, ok := made.(*collector.Collector)
	if !ok {
		ts.Fatalf("no collector: collect starts one")
	}
	return found
}

// traced is "traced <session>...": it checks that the received spans of each session's newest run match its journal.
func (c *collectors) traced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: traced <session>...")
	}
	for _, session := range args {
		journal := sessionJournal(ts, session)
		run := journal[len(journal)-1].RunID
		journal = slices.DeleteFunc(journal, func(e event.Event) bool { return e.RunID != run })
		spans := c.start(ts).Trace(run)
		if err := checkTrace(spans, journal); err != nil {
			ts.Fatalf("session %s: %v\n%s", session, err, collector.Draw(spans))
		}
	}
}

// spans is "spans <file>": it writes the received spans, one per line, each with its attributes and its children below.
func (c *collectors) spans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spans <file>")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(collector.Draw(c.start(ts).Spans())), 0o600))
}

// measured is "measured <session>": it checks that the sums of the received metrics match the session's metrics.json.
func (c *collectors) measured(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: measured <session>")
	}
	var m engine.Metrics
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(".claude/pipeline-runs/"+args[0]+"/metrics.json")), &m))
	got := c.start(ts).Sums()
	pipeline := cmp.Or(m.Pipeline, m.Stages[0].Stage) // a loop is named after its stage
	in, out, cost := int64(0), int64(0), 0.0
	if u := m.Usage; u.InputTokens != nil && u.OutputTokens != nil && u.CostUSD != nil {
		in, out, cost = *u.InputTokens, *u.OutputTokens, *u.CostUSD
	}
	for name, want := range map[string]float64{
		"iterations": float64(m.Iterations), "attempts": float64(m.Attempts), "attempt.duration": float64(m.Attempts), "retries agent_pipelines.rung=attempt": float64(m.Retries),
		"tokens gen_ai.token.type=input": float64(in), "tokens gen_ai.token.type=output": float64(out), "cost": cost, "node.duration": float64(m.Visits),
		"runs agent_pipelines.status=completed": 1, "iterations agent_pipelines.pipeline=" + pipeline: float64(m.Iterations), "questions": 0,
	} {
		if diff := got["agent_pipelines."+name] - want; diff > 1e-9 || diff < -1e-9 {
			ts.Fatalf("%s is %v, and %v in the journal: %v", name, got["agent_pipelines."+name], want, got)
		}
	}
}

// within is "within <file> <name>": it checks that the file contains the traceparent of a received span with the name.
func (c *collectors) within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: within <file> <name>")
	}
	parts := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "-")
	for _, s := range c.start(ts).Spans() {
		if len(parts) == 4 && parts[1] == hex.EncodeToString(s.GetTraceId()) && parts[2] == hex.EncodeToString(s.GetSpanId()) && s.GetName() == args[1] {
			return
		}
	}
	ts.Fatalf("no span %q is %v", args[1], parts)
}
