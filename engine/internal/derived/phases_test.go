package derived

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// A node with an artifact passes through up to five phases and always ends with finalize; other nodes have no phases.
func TestPhases(t *testing.T) {
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "plain"}, {Path: "1", ID: "spec", Artifact: &plan.Artifact{}}}}
	for _, tt := range []struct{ name, events, want string }{
		{"once", "node_start check_result iteration_start attempt_complete check_result node_complete", "initialize validate_input execute validate_output finalize"},
		{"healed", "node_start iteration_start attempt_complete retry attempt_complete node_complete", "initialize validate_input execute validate_output execute validate_output finalize"},
		{"retried", "node_start iteration_start retry retry attempt_complete node_complete", "initialize validate_input execute validate_output finalize"},
		{"does not begin", "node_start input_checked node_complete", "initialize validate_input finalize"},
		{"fails", "node_start iteration_start error node_complete", "initialize validate_input execute finalize"},
		{"restarted", "node_start iteration_start node_start", "initialize validate_input execute finalize initialize validate_input"},
		{"visited again", "node_start node_complete node_start", "initialize validate_input finalize initialize validate_input"},
		{"aborted", "node_start iteration_start session_aborted session_aborted", "initialize validate_input execute finalize"},
		{"resumed", "retry attempt_complete node_complete", "execute validate_output finalize"},
	} {
		for path, want := range map[string]string{"0": "", "1": tt.want} {
			f, got := phases{}, []string{}
			for word := range strings.FieldsSeq(tt.events) {
				for _, at := range f.advance(p, event.Event{Type: event.Type(word), Cursor: &event.Cursor{NodePath: path}}) {
					if at.node != "spec" || at.cursor.NodePath != "1" {
						t.Errorf("%s: %+v", tt.name, at)
					}
					got = append(got, at.name)
				}
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s, node %s: %s", tt.name, path, diff)
			}
		}
	}
	f := phases{"1": event.PhaseExecute}
	for _, c := range []event.Cursor{{NodePath: "1", Step: "s1"}, {NodePath: "1", Provider: "claude"}} {
		if got := f.advance(p, event.Event{Type: event.AttemptComplete, Cursor: &c}); got != nil {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
