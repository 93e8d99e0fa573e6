//go:build parity

package compile_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

var parityDir = flag.String("parity-dir", "", "folder of the recorded corpus: corpus-bash/ and cases/")

// diverges are recorded plans that are not ours on purpose, by the ids of the corpus.
var diverges = map[string]string{
	"o2": "D10: --provider beats the nodes' own",
	"o3": "D10: CLAUDE_PIPELINE_PROVIDER beats the nodes' own",
	"b9": "D26: runs: 0 is refused",
	"b7": "D26: an unknown provider is refused",
}

// TestParity compiles every recorded pipeline that has only stage nodes and compares the plans,
// key-sorted and without times.
func TestParity(t *testing.T) {
	for name, root := range map[string]string{"corpus-bash/expected/*.plan.json": "corpus-bash", "cases/*/expected/step-*/files/.claude/pipeline-runs/*/plan.json": ""} {
		files, err := filepath.Glob(filepath.Join(*parityDir, name))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recorded plans match %s in -parity-dir %q (%v)", name, *parityDir, err)
		}
		compared := 0
		for _, file := range files {
			if compareRecorded(t, file, root) {
				compared++
			}
		}
		t.Logf("%s: compared %d of %d", name, compared, len(files))
		if compared < 6 {
			t.Errorf("%s: only %d plans compared", name, compared)
		}
	}
}

// compareRecorded returns false for a plan with other nodes than stages.
func compareRecorded(t *testing.T, file, root string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var recorded plan.Plan
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if recorded.Version != plan.Version || diverges[recorded.Session.Name] != "" ||
		slices.ContainsFunc(recorded.Nodes, func(n plan.Node) bool { return n.Kind != plan.KindStage }) {
		return false
	}
	project := filepath.Join(*parityDir, root)
	if root == "" {
		caseDir, _, _ := strings.Cut(file, string(filepath.Separator)+"expected"+string(filepath.Separator))
		project = filepath.Join(caseDir, "input", "root")
	}
	if project, err = filepath.Abs(project); err != nil {
		t.Fatal(err)
	}
	got, err := compile.Pipeline(compile.Request{
		Roots: compile.Roots{Project: project, Engine: project}, File: recorded.Source.Path, Session: recorded.Session.Name,
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	})
	if err != nil {
		t.Errorf("%s:\n%v", file, err)
		return true
	}
	ours, err := json.Marshal(got.Plan)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normalised(t, data), normalised(t, ours)); diff != "" {
		t.Errorf("%s (-recorded +ours):\n%s", file, diff)
	}
	return true
}

// TestParityErrors compiles the pipelines that the Bash engine's compiler refuses.
func TestParityErrors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*parityDir, "corpus-bash", "expected", "*.error.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded errors in -parity-dir %q (%v)", *parityDir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".error.txt")
		project, err := filepath.Abs(filepath.Join(*parityDir, "corpus-bash"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = compile.Pipeline(compile.Request{
			Roots: compile.Roots{Project: project}, File: "scripts/pipelines/" + name + ".yaml", Session: name,
			Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
		})
		if err == nil || !strings.Contains(err.Error(), "unknown stage") {
			t.Errorf("%s: got %v, want an unknown stage", name, err)
		}
	}
}

// normalised drops times, the initial inputs, which the Bash engine added when it ran, and a stage's
// commands, which it ignored (D25).
func normalised(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	delete(p, "compiled_at")
	session, ok := p["session"].(map[string]any)
	if !ok {
		t.Fatalf("no session in %s", data)
	}
	delete(session, "created_at")
	delete(session, "inputs")
	nodes, ok := p["nodes"].([]any)
	if !ok {
		t.Fatalf("no nodes in %s", data)
	}
	for _, n := range nodes {
		if n, ok := n.(map[string]any); ok {
			delete(n, "commands")
		}
	}
	return p
}
