package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// checkTrace compares the spans of a run with its journal: they form one tree of one trace, no span occurs twice or
// exceeds its parent's time, and their numbers by kind match the journal.
func checkTrace(spans []*trace.Span, journal []event.Event) error {
	return errors.Join(checkTree(spans), checkCounts(spans, journal))
}

func checkTree(spans []*trace.Span) error {
	var errs []error
	byID, roots := map[string]*trace.Span{}, 0
	for _, s := range spans {
		id := hex.EncodeToString(s.GetSpanId())
		if byID[id] != nil {
			errs = append(errs, fmt.Errorf("span %s (%s) is there twice", id, s.GetName()))
		}
		byID[id] = s
		if !bytes.Equal(s.GetTraceId(), spans[0].GetTraceId()) {
			errs = append(errs, fmt.Errorf("span %s is of trace %x, others of %x", s.GetName(), s.GetTraceId(), spans[0].GetTraceId()))
		}
	}
	for _, s := range spans {
		if len(s.GetParentSpanId()) == 0 {
			roots++
			continue
		}
		around := byID[hex.EncodeToString(s.GetParentSpanId())]
		resumed := strings.HasPrefix(s.GetName(), "resume ") // after a pause, which ended the run's span
		switch {
		case around == nil:
			errs = append(errs, fmt.Errorf("the span around %s (%x) is missing", s.GetName(), s.GetSpanId()))
		case s.GetStartTimeUnixNano() < around.GetStartTimeUnixNano(),
			!resumed && s.GetEndTimeUnixNano() > around.GetEndTimeUnixNano(), s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano():
			errs = append(errs, fmt.Errorf("%s [%d, %d] reaches out of %s [%d, %d]", s.GetName(), s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano(),
				around.GetName(), around.GetStartTimeUnixNano(), around.GetEndTimeUnixNano()))
		}
	}
	if roots != 1 {
		errs = append(errs, fmt.Errorf("%d spans have none around them, want 1", roots))
	}
	return errors.Join(errs...)
}

// checkCounts compares the numbers of spans, by the first word of their names, with the journal.
func checkCounts(spans []*trace.Span, journal []event.Event) error {
	got := map[string]int{}
	for _, s := range spans {
		word, _, _ := strings.Cut(s.GetName(), " ")
		got[word]++
	}
	var errs []error
	for word, n := range expectedSpans(journal) {
		if got[word] != n {
			errs = append(errs, fmt.Errorf("%d spans of the kind %q, the journal has %d", got[word], word, n))
		}
	}
	return errors.Join(errs...)
}

// expectedSpans returns the numbers of spans of a run that did not pause before its end.
func expectedSpans(journal []event.Event) map[string]int {
	want := map[string]int{"run": 1, "resume": 0, "node": 0, "provider": 0, "iteration": 0, "attempt": 0, "invoke_agent": 0, "decide": 0, "hook": 0, "check": 0}
	iterations := map[event.Key]bool{}
	for _, e := range journal {
		switch e.Type {
		case event.NodeStart:
			want["node"]++
		case event.IterationStart, event.Retry, event.AttemptStart:
			want["attempt"]++
			want["invoke_agent"]++
			if _, at, _, ok := e.Key.Parse(); ok {
				iterations[at.Key(event.KeyIteration, 1)] = true
			}
		case event.StrategyQuestion:
			want["invoke_agent"]++
		case event.Decision:
			if d, err := event.Decode[event.DecisionData](e); err == nil && d.Strategy != "fixed" && d.Strategy != "checks" {
				want["decide"]++
			}
		case event.HookStart:
			want["hook"]++
		case event.CheckResult:
			want["check"]++
		default:
		}
	}
	branches := map[string]bool{}
	for _, e := range journal {
		if e.Type == event.ParallelProviderStart && e.Cursor != nil {
			branches[fmt.Sprintf("%s %s %d", e.Cursor.NodePath, e.Cursor.Provider, e.Cursor.Visit)] = true
		}
	}
	want["iteration"], want["provider"] = len(iterations), len(branches)
	return want
}
