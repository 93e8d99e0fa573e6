package yamldoc_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

func TestDiagnosticJSON(t *testing.T) {
	d := yamldoc.Diagnostic{File: "p.yaml", Line: 1, Column: 2, Code: yamldoc.CodeType, Message: "m", Severity: yamldoc.SeverityWarning}
	got, err := json.Marshal(d)
	want := `{"file":"p.yaml","line":1,"column":2,"code":"AP-YAML-101","message":"m","severity":"warning"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// U301: diagnostics are sorted by position, without repetitions, and render one line each.
func TestDiagnosticsAreSorted(t *testing.T) {
	var l yamldoc.Diagnostics
	d := yamldoc.Document{File: "p.yaml", Diagnostics: &l}
	d.Warnf(yamldoc.Pos{Line: 2, Column: 1}, yamldoc.CodeNoEffect, "", "%s has no effect yet", "b")
	if l.HasErrors() {
		t.Error("a warning counts as an error")
	}
	d.Errorf(yamldoc.Pos{Line: 1, Column: 3}, yamldoc.CodeType, "write text", "a must be text")
	d.Errorf(yamldoc.Pos{Line: 1, Column: 3}, yamldoc.CodeType, "write text", "a must be text")
	want := "p.yaml:1:3: error[AP-YAML-101]: a must be text (write text)\np.yaml:2:1: warning[AP-YAML-303]: b has no effect yet"
	if diff := cmp.Diff(want, l.Sorted().Error()); diff != "" {
		t.Error(diff)
	}
	if !l.HasErrors() {
		t.Error("the error is not reported")
	}
}

// A document has a tree, is empty, or is broken.
func TestDocumentParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		tree, ok   bool
		faults     int
	}{
		{"a map", "a: 1", true, true, 0},
		{"empty", "", false, true, 0},
		{"comments only", "# nothing\n", false, true, 0},
		{"null", "~", false, true, 0},
		{"broken", "a: [", false, false, 1},
		{"a key twice", "a: 1\na: 2", true, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l yamldoc.Diagnostics
			root, ok := yamldoc.Document{File: "p.yaml", Diagnostics: &l}.Parse([]byte(tt.text))
			if (root != nil) != tt.tree || ok != tt.ok || len(l) != tt.faults {
				t.Errorf("tree %v, ok %v, faults %v", root, ok, l)
			}
		})
	}
}
