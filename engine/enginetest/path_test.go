package enginetest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// rejectPipeline is a pipeline whose review rejects the draft.
const rejectPipeline = `
name: back
policy: {retry: {backoff: [0]}}
nodes:
  - {id: draft, prompt: draft, artifact: {type: text}, transitions: {success: review}}
  - {id: review, prompt: "review ${FEEDBACK}", transitions: {success: done, reject: {to: draft, limit: 2, on_limit: failed}}}
`

func runRejecting(t testing.TB, replies ...enginetest.Reply) *enginetest.Session {
	t.Helper()
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Run: engine.RunOptions{Text: rejectPipeline}, Replies: replies,
		Script: func(_ string, req sdk.ExecuteRequest) enginetest.Reply {
			if req.Node == "draft" {
				return enginetest.Reply{Artifact: "version: " + strconv.Itoa(req.Visit)}
			}
			return enginetest.Reply{}
		},
	})
	s.Run()
	return s
}

// A reply sets outcome, message and feedback; Script makes an artifact for each visit.
func TestOutcomes(t *testing.T) {
	s := runRejecting(t, enginetest.Reply{Node: "review", Visit: 1, Outcome: "reject", Message: "too short", Feedback: "twice as long"})
	enginetest.AssertStateStatus(t, s, state.Completed)
	enginetest.AssertPath(t, s, "draft:success", "review:reject", "draft", "review:success")
	enginetest.AssertIterationCount(t, s, 4)
	requests := s.Requests()
	if len(requests) != 4 || strings.Contains(requests[0].Prompt, "twice") || !strings.Contains(requests[2].Prompt, "twice as long") {
		t.Errorf("requests %+v", requests)
	}
	var reasons []string
	for _, c := range s.Status().Cycles {
		reasons = append(reasons, c.Reasons...)
	}
	if diff := cmp.Diff([]string{"too short"}, reasons); diff != "" {
		t.Error(diff)
	}
	artifacts := 0
	for _, e := range s.Events() {
		if d, err := event.Decode[event.IterationCompleteData](e); err == nil && e.Type == event.IterationComplete && d.Artifact != nil {
			artifacts++
		}
	}
	if artifacts != 2 {
		t.Errorf("%d artifacts, want that of each visit", artifacts)
	}
}

// Each assertion about paths fails where it should and shows the actual values.
func TestPathFailures(t *testing.T) {
	s := runRejecting(t, enginetest.Reply{Node: "review", Outcome: "reject", Message: "too short"})
	way := []string{"draft", "review:reject", "draft", "review:reject", "draft", "review:reject"}
	checkAssertions(t, []assertion{
		{"path holds", func(t testing.TB) { enginetest.AssertPath(t, s, way...) }, nil},
		{"path, too short", func(t testing.TB) { enginetest.AssertPath(t, s, way[:2]...) }, []string{"from visit 3 on", "2 review:reject (too short)", "6 review:reject"}},
		{"path, too long", func(t testing.TB) { enginetest.AssertPath(t, s, append(slices.Clone(way), "draft")...) }, []string{"from visit 7 on"}},
		{"path, another node", func(t testing.TB) { enginetest.AssertPath(t, s, "draft", "draft") }, []string{"from visit 2 on"}},
		{"path, another outcome", func(t testing.TB) { enginetest.AssertPath(t, s, "draft:fail") }, []string{"from visit 1 on", "1 draft:success"}},
	})
}

// Checks pass, fail or cannot be measured, selected by node, visit, iteration and configuration.
func TestChecks(t *testing.T) {
	const text = `
name: checked
policy: {retry: {backoff: [0], stage: 1}}
nodes:
  - id: build
    prompt: build
    checks: [{id: before, type: file_exists, path: go.mod, at: enter}, {id: compiles, type: command, run: go build}, {id: tests, type: tests, run: go test -json}]
    artifact: {type: build, kernel_fields: {counts: checks.tests.counts, failing: checks.tests.failed, passing: checks.tests.passed}}
    transitions: {success: done, fail: {to: build, limit: 1}}
`
	tests := []struct {
		name   string
		checks []enginetest.Check
		status state.Status
		path   []string
	}{
		{"all pass", []enginetest.Check{}, state.Completed, []string{"build:success"}},
		{"one fails at first", []enginetest.Check{{Visit: 1, Contains: "go test", Reason: "1 of 2 tests failed", Failed: []string{"TestA"}}}, state.Completed, []string{"build:fail", "build:success"}},
		{"those of others", []enginetest.Check{{Node: "deploy", Reason: "down"}, {Visit: 2, Reason: "late"}, {Iteration: 2, Reason: "once more"}}, state.Completed, []string{"build:success"}},
		{"not let in", []enginetest.Check{{Contains: "go.mod", Reason: "there is no file go.mod"}}, state.Paused, []string{"build:fail", "build"}},
		{"cannot be made", []enginetest.Check{{Contains: "go build", Failure: errors.New("no compiler")}}, state.Paused, []string{"build"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := enginetest.NewMockSession(t, enginetest.Fixtures{
				Run: engine.RunOptions{Text: text}, Checks: tt.checks, Replies: []enginetest.Reply{{Artifact: "{}"}},
			})
			s.Run()
			enginetest.AssertStateStatus(t, s, tt.status)
			enginetest.AssertPath(t, s, tt.path...)
		})
	}
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: engine.RunOptions{Text: text}})
	if _, err := s.Engine.Run(context.Background(), s.Options); err == nil || !strings.Contains(err.Error(), "check") {
		t.Errorf("the run begins without answers for the checks: %v", err)
	}
}
