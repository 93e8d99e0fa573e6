package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/delivery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testfirst"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// deliveryCheck is a check of a delivery.
type deliveryCheck struct {
	*evaluation
	plan.Check
	snapshots *snapshot.Repository
	change    delivery.Change
	start     string // the snapshot before the run
	before    string // the name of the snapshot before the stage
	now       string // the workspace's snapshot
}

// specID matches the id of a specification, which becomes a part of names.
var specID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// measureDelivery records the workspace at the entry of the node. At the exit it compares the project with the start of the
// run.
func (w *evaluation) measureDelivery(ctx context.Context, c plan.Check, _ json.RawMessage) (sdk.HookAnswer, error) {
	d := &deliveryCheck{evaluation: w, Check: c}
	if err := d.open(ctx); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.At == plan.AtEnter {
		return d.enter(ctx)
	}
	cheat, err := d.compare(ctx)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	values, found, err := d.change.Judge(ctx)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	if cheat == nil {
		cheat = found
	}
	if d.change.Mode == plan.DeliverPatch {
		if err := d.writePatch(ctx); err != nil {
			return sdk.HookAnswer{}, err
		}
		values["patch_file"] = d.change.PatchFile()
	}
	facts := artifact.Facts{
		Type: plan.CheckDelivery, Passed: cheat == nil, Delivery: values,
		Evidence: &artifact.Evidence{Snapshot: d.now, Changed: d.change.Files},
	}
	if cheat != nil {
		facts.Reason, facts.Evidence.Code = cheat.Error(), cheat.Code
	}
	raw, err := json.Marshal(facts)
	return sdk.HookAnswer{Action: sdk.ActionContinue, Facts: raw}, err
}

// open reads what the delivery has to be.
func (d *deliveryCheck) open(ctx context.Context) (err error) {
	if d.snapshots, err = d.evaluation.snapshots(ctx, d.State.Session); err != nil {
		return err
	}
	if d.change.Mode, err = d.DeliveryMode(); err != nil {
		return err
	}
	input, err := artifact.ReadNodeInput(d.Dir, d.Plan, d.State, d.Node, d.at)
	if err != nil {
		return err
	}
	d.change.SpecID, _ = input.Data["spec_id"].(string)
	if !specID.MatchString(d.change.SpecID) {
		return failure.New(failure.ResultMissing, "check %s of %s has no spec_id: the input artifact has %q", d.ID, d.Node.ID, d.change.SpecID).
			WithHint("write requires: {%s: [spec_id]} in node %s", input.From, d.Node.ID)
	}
	in, _ := artifact.FindInput(d.Plan, d.State, d.Node, d.at)
	d.before = snapshot.Name(d.State.Session, d.State.RunID, "delivery", d.Node.ID, in.Ref.SHA256)
	d.change.Dir = d.Project.Path()
	return nil
}

// enter records the workspace. A later visit with the same input begins where the first one began: what that changed must go.
func (d *deliveryCheck) enter(ctx context.Context) (sdk.HookAnswer, error) {
	_, _, known, err := d.snapshots.Find(ctx, d.before)
	if err == nil && !known {
		_, err = d.snapshots.Record(ctx, d.before, "")
	}
	return sdk.HookAnswer{Action: sdk.ActionContinue, Facts: json.RawMessage(`{"type":"delivery","passed":true}`)}, err
}

// compare finds the change of the run. It returns the cheat of a stage that changed files itself.
func (d *deliveryCheck) compare(ctx context.Context) (*testfirst.Cheat, error) {
	var err error
	if d.start, d.change.Start, err = delivery.FindStart(ctx, d.snapshots, d.State.Session, d.State.RunID); err != nil {
		return nil, err
	}
	if d.start == "" {
		return nil, failure.New(failure.HookFailed, "the state of the project before the run is not known").
			WithHint("start the session again with %s", failure.Option("force"))
	}
	if d.now, err = d.snapshots.Record(ctx, snapshot.Name(d.State.Session, d.State.RunID, "check", d.Node.ID, d.ID), ""); err != nil {
		return nil, err
	}
	d.change.File = func(name string) (mode, content string, err error) {
		if mode, err = d.snapshots.Mode(ctx, d.now, name); err == nil && mode != "" {
			content, err = d.snapshots.Read(ctx, d.now, name)
		}
		return mode, content, err
	}
	if d.change.Files, err = d.changedSince(ctx, d.start); err != nil {
		return nil, err
	}
	before, _, known, err := d.snapshots.Find(ctx, d.before)
	if err != nil || !known {
		return nil, err
	}
	changed, err := d.changedSince(ctx, before)
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	return &testfirst.Cheat{Code: delivery.CheatCode, Message: changed[0] + " was changed after its tests ran: this stage changes no file"}, nil
}

// changedSince returns the files that differ from a snapshot, without the patch, which the engine writes.
func (d *deliveryCheck) changedSince(ctx context.Context, id string) ([]string, error) {
	files, err := d.snapshots.Changed(ctx, id, d.now)
	return slices.DeleteFunc(files, func(name string) bool { return name == d.change.PatchFile() }), err
}

// writePatch writes the change as a patch.
func (d *deliveryCheck) writePatch(ctx context.Context) error {
	patch, err := d.snapshots.Patch(ctx, d.start, d.now, d.change.PatchFile())
	if err != nil {
		return err
	}
	return errors.Join(d.Project.Mkdir(path.Dir(d.change.PatchFile())), d.Project.Replace(d.change.PatchFile(), []byte(patch)))
}
