package outcome

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/delivery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// newDeliveryCheck returns a development whose node measures a delivery in a mode, with the artifact of the node before it.
func newDeliveryCheck(t *testing.T, mode, specID string) development {
	t.Helper()
	d := newDevelopment(t, nil)
	d.node.Checks = []plan.Check{
		{ID: "entered", At: plan.AtEnter, Config: []byte(`{"type":"delivery"}`)},
		{ID: "delivered", Config: []byte(`{"type":"delivery"}`)},
	}
	start := testkit.Must(artifact.WriteStart(d.settler.Dir, artifact.Artifact{Meta: artifact.StartMeta(time.Now()), Data: map[string]any{plan.FieldDelivery: mode}}))
	made := testkit.Must(artifact.Write(d.settler.Dir, d.settler.Plan, event.Location{Node: "0", Visit: 1, Run: 1}, artifact.Artifact{
		Meta: artifact.NewMeta(&d.settler.Plan.Nodes[0], time.Now()), Data: map[string]any{"spec_id": specID},
	}))
	d.state.Input = &start
	n := d.state.Nodes["0"]
	n.SetArtifact(event.Artifact, made)
	d.state.Nodes["0"] = n
	return d
}

// begin records the state before the run.
func (d development) begin() {
	d.t.Helper()
	testkit.OK(d.t, delivery.RecordStart(d.t.Context(), d.dir, d.state.Session, d.state.RunID))
}

// U314: the change is that of the run, and the engine writes it as a patch. The stage changes no file, in no visit.
func TestDelivery(t *testing.T) {
	d := newDeliveryCheck(t, "patch", "SPEC-1")
	d.expect("delivered", "the state of the project before the run is not known")
	d.begin()
	d.write("new", "content\n")
	d.expect("entered", "")
	got := d.expect("delivered", "")
	for _, want := range []string{`"files_modified":["new"]`, `"patch_file":"specs/SPEC-1.patch"`, `"commit_sha":null`, `"status":"staged"`} {
		if facts := d.text(got.Facts); !strings.Contains(facts, want) {
			t.Errorf("%s, want %s", facts, want)
		}
	}
	if patch := string(testkit.Must(os.ReadFile(filepath.Join(d.dir, "specs/SPEC-1.patch")))); !strings.Contains(patch, "\n+++ b/new\n") || strings.Contains(patch, "old") {
		t.Error(patch)
	}
	d.expect("delivered", "") // the patch does not count
	d.write("new", "other\n")
	d.expect("delivered", delivery.CheatCode+": new was changed after its tests ran")
	d.expect("entered", "") // another visit does not accept what was refused
	d.expect("delivered", delivery.CheatCode)
}

func TestDeliveryWithoutSpecification(t *testing.T) {
	d := newDeliveryCheck(t, "", "../SPEC")
	d.expect("delivered", `check delivered of verify has no spec_id: the input artifact has "../SPEC"`)
}
