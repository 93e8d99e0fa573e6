//go:build parity

package compile_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

var parityDir = flag.String("parity-dir", "", "folder of the recorded corpus: corpus-bash/ and cases/")

// knownDifferences are recorded plans that differ on purpose, by the ids of the corpus.
var knownDifferences = map[string]string{
	"o2":    "D10: --provider beats the nodes' own",
	"o3":    "D10: CLAUDE_PIPELINE_PROVIDER beats the nodes' own",
	"b9":    "D26: runs: 0 is refused",
	"b7":    "D26: an unknown provider is refused",
	"self1": "D30: from_parallel within its own block is refused",
}

// TestParity compiles every recorded pipeline and compares the plans, key-sorted and without times.
func TestParity(t *testing.T) {
	for name, root := range map[string]string{"corpus-bash/expected/*.plan.json": "corpus-bash", "cases/*/expected/step-*/files/.claude/pipeline-runs/*/plan.json": ""} {
		files, err := filepath.Glob(filepath.Join(*parityDir, name))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recorded plans match %s in -parity-dir %q (%v)", name, *parityDir, err)
		}
		compared := map[plan.Kind]int{}
		for _, file := range files {
			for _, kind := range compareRecorded(t, file, root) {
				compared[kind]++
			}
		}
		t.Logf("%s: compared nodes by kind %v in %d files", name, compared, len(files))
		if compared[plan.KindStage] < 6 || compared[plan.KindParallel] < 6 {
			t.Errorf("%s: too few nodes compared: %v", name, compared)
		}
	}
}

// compareRecorded compares a recorded plan and returns the kinds of its nodes. It returns none for a record without a
// plan, for a known difference, and after a failed compilation.
func compareRecorded(t *testing.T, file, root string) []plan.Kind {
	t.Helper()
	data := must(os.ReadFile(file))
	var recorded plan.Plan
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if recorded.Version != plan.Version || knownDifferences[recorded.Session.Name] != "" {
		return nil
	}
	project := filepath.Join(*parityDir, root)
	if root == "" {
		caseDir, _, _ := strings.Cut(file, string(filepath.Separator)+"expected"+string(filepath.Separator))
		project = filepath.Join(caseDir, "input", "root")
	}
	project = must(filepath.Abs(project))
	got, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: project, Engine: project}, File: recorded.Source.Path, Session: recorded.Session.Name,
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	})
	if err != nil {
		t.Errorf("%s:\n%v", file, err)
		return nil
	}
	ours := must(json.Marshal(got.Plan))
	if diff := cmp.Diff(normalizedPlan(t, data), normalizedPlan(t, ours)); diff != "" {
		t.Errorf("%s (-recorded +ours):\n%s", file, diff)
	}
	var kinds []plan.Kind
	for _, n := range recorded.Nodes {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

// TestParityErrors compiles the pipelines that the Bash engine's compiler refuses.
func TestParityErrors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*parityDir, "corpus-bash", "expected", "*.error.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded errors in -parity-dir %q (%v)", *parityDir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".error.txt")
		project := must(filepath.Abs(filepath.Join(*parityDir, "corpus-bash")))
		_, err = compile.Pipeline(compile.Request{
			Roots: sources.Roots{Project: project}, File: "scripts/pipelines/" + name + ".yaml", Session: name,
			Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
		})
		if err == nil || !strings.Contains(err.Error(), "unknown stage") {
			t.Errorf("%s: got %v, want an unknown stage", name, err)
		}
	}
}

// normalizedPlan returns a plan without times, without the initial inputs that the Bash engine added at run time, and
// without the values that it ignored. These are commands of nodes (D25) and guardrails (D23).
func normalizedPlan(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var p map[string]any
	check(t, json.Unmarshal(data, &p))
	normalize(p)
	return p
}

// normalize removes the values that [normalizedPlan] leaves out, also from stages of blocks and embedded plans.
func normalize(p map[string]any) {
	delete(p, "compiled_at")
	if pipeline, ok := p["pipeline"].(map[string]any); ok {
		delete(pipeline, "guardrails")
	}
	if session, ok := p["session"].(map[string]any); ok {
		delete(session, "created_at")
		delete(session, "inputs")
	}
	for _, key := range []string{"nodes", "stages"} {
		list, _ := p[key].([]any)
		for _, n := range list {
			if n, ok := n.(map[string]any); ok {
				delete(n, "commands")
				delete(n, "guardrails")
				normalize(n)
			}
		}
	}
	if inner, ok := p["plan"].(map[string]any); ok {
		normalize(inner)
	}
}
