package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testfirst"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// testFirstCheck is a check with test_first: it runs the tests, takes a snapshot of the workspace, and compares both with
// those of the checks before it in the run.
type testFirstCheck struct {
	*evaluation
	plan.Check
	config    map[string]any // of the action
	files     testfirst.Files
	snapshots *snapshot.Repository
	facts     map[string]any // of the run of the tests in the workspace
	now       string         // the workspace's snapshot
	run       testfirst.Run
	evidence  artifact.Evidence
}

// testRecord is the message of a snapshot: the tests of the state before the work, and the new tests of RED.
type testRecord struct {
	id    string            // of the snapshot
	Base  string            `json:"base,omitempty"`  // the snapshot before the work; default: that of the record
	Entry string            `json:"entry,omitempty"` // the snapshot that RED began with; default: that of the record
	Done  bool              `json:"done,omitempty"`  // RED that began with Entry was accepted
	Tests map[string]string `json:"tests"`           // of the base, with their status
	New   []string          `json:"new,omitempty"`   // the tests that must pass
}

// measureTestFirst performs the check and returns its answer, with what was compared.
func (w *evaluation) measureTestFirst(ctx context.Context, c plan.Check, config json.RawMessage) (sdk.HookAnswer, error) {
	t := &testFirstCheck{evaluation: w, Check: c}
	if err := json.Unmarshal(config, &t.config); err != nil {
		return sdk.HookAnswer{}, err
	}
	t.config["names"], t.config["expect"] = true, "exit_zero"
	t.files = testfirst.Files{Patterns: c.TestFiles, Support: c.SupportFiles, Command: fmt.Sprint(t.config["command"])}
	var err error
	if t.snapshots, err = w.snapshots(ctx, w.State.Session); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.TestFirst == plan.TestFirstBase {
		if known, err := t.enter(ctx); known || err != nil {
			return sdk.HookAnswer{Action: sdk.ActionContinue, Facts: json.RawMessage(`{"type":"tests","passed":true}`)}, err
		}
	}
	var found *testfirst.Cheat
	if err = t.measure(ctx); err == nil {
		found, err = t.judge(ctx)
	}
	if err != nil && !errors.As(err, &found) {
		return sdk.HookAnswer{}, err
	}
	return t.answer(found)
}

// enter reports whether the tests before the work are known: on a later visit of the node, and after RED. A visit after an
// accepted RED begins with the state of now. A visit after a refused one begins where that began: its code must go.
func (t *testFirstCheck) enter(ctx context.Context) (known bool, err error) {
	base, known, err := t.record(ctx, baseName, t.Node.ID)
	if err != nil || !known {
		_, afterRed, err := t.record(ctx, testsName)
		return afterRed, err
	}
	if !base.Done {
		return true, nil
	}
	base.Entry, base.Done = "", false
	return true, t.keep(ctx, base, baseName, t.Node.ID)
}

// measure takes a snapshot of the workspace and runs the tests in it.
func (t *testFirstCheck) measure(ctx context.Context) (err error) {
	if t.now, err = t.snapshots.Record(ctx, t.name("check", t.Node.ID, t.ID), ""); err != nil {
		return err
	}
	t.evidence.Snapshot = t.now
	t.facts, t.run, err = t.runTests(ctx, "")
	return err
}

// name returns the name of a snapshot of this run.
func (t *testFirstCheck) name(parts ...string) string {
	return snapshot.Name(append([]string{t.State.Session, t.State.RunID}, parts...)...)
}

// The names of the snapshots that checks share, within a run.
const (
	baseName  = "base"  // with the id of the node: the state before the work
	testsName = "tests" // the tests that the code must pass
)

// runTests runs the tests in the workspace, or in the directory of an earlier state of it.
func (t *testFirstCheck) runTests(ctx context.Context, dir string) (map[string]any, testfirst.Run, error) {
	t.config["isolated"] = dir != ""
	config, err := json.Marshal(t.config)
	if err != nil {
		return nil, testfirst.Run{}, err
	}
	answer, err := t.measureIn(ctx, t.Check, config, cmp.Or(dir, t.Project.Path()))
	if err != nil {
		return nil, testfirst.Run{}, err
	}
	var facts map[string]any
	var run struct {
		Tests  map[string]string
		Output string
		// Evidence and Reason are those of a report that the action refuses.
		Evidence artifact.Evidence
		Reason   string
	}
	if err := errors.Join(json.Unmarshal(answer.Facts, &facts), json.Unmarshal(answer.Facts, &run)); err != nil {
		return nil, testfirst.Run{}, failure.New(failure.HookFailed, "the answer of check %s is unreadable: %w", t.ID, err)
	}
	if run.Evidence.Code != "" {
		return facts, testfirst.Run{}, &testfirst.Cheat{Code: run.Evidence.Code, Message: strings.TrimPrefix(run.Reason, run.Evidence.Code+": ")}
	}
	if over := len(run.Output) - maxOutput; over > 0 {
		_, end, _ := strings.Cut(run.Output[over:], "\n")
		facts["output"] = end
	}
	return facts, testfirst.Run{Tests: run.Tests, Output: run.Output}, nil
}

// maxOutput is the length of the output that agents see, in bytes. Judging reads all of it.
const maxOutput = 4 << 10

// judge compares and records what later checks need. It returns the cheat that was found, nil for none.
func (t *testFirstCheck) judge(ctx context.Context) (*testfirst.Cheat, error) {
	red, hasRed, err := t.record(ctx, testsName)
	if err != nil {
		return nil, err
	}
	base, hasBase, err := t.record(ctx, baseName, t.Node.ID)
	switch {
	case err != nil:
		return nil, err
	case t.TestFirst == plan.TestFirstBase:
		return nil, t.keep(ctx, testRecord{Tests: t.run.Tests}, baseName, t.Node.ID) // with the files that the tests write
	case t.TestFirst == plan.TestFirstRed && hasBase:
		return t.judgeRed(ctx, base)
	case t.TestFirst == plan.TestFirstFix && hasBase:
		return t.judgeFix(ctx, base)
	case hasRed:
		return t.judgeLater(ctx, red, red.id)
	case hasBase: // the run began here, with tests that were there before it
		return t.judgeLater(ctx, base, base.Base)
	default:
		return nil, failure.New(failure.HookFailed, "nothing was measured before check %s", t.ID).
			WithHint("add a check with at: enter and test_first: base to %s", t.Node.ID)
	}
}

// record returns the record of a snapshot of this run.
func (t *testFirstCheck) record(ctx context.Context, parts ...string) (r testRecord, found bool, err error) {
	id, message, found, err := t.snapshots.Find(ctx, t.name(parts...))
	if err != nil || !found {
		return r, false, err
	}
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return r, false, fmt.Errorf("read the message of snapshot %s: %w", id, err)
	}
	r.id, r.Base, r.Entry = id, cmp.Or(r.Base, id), cmp.Or(r.Entry, id)
	return r, true, nil
}

// keep records the workspace under a name of this run, with a record.
func (t *testFirstCheck) keep(ctx context.Context, r testRecord, parts ...string) error {
	message, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = t.snapshots.Record(ctx, t.name(parts...), string(message))
	return err
}

// judgeRed judges failing tests. On a later visit the code of GREEN is there already: then the tests run without it.
func (t *testFirstCheck) judgeRed(ctx context.Context, base testRecord) (*testfirst.Cheat, error) {
	changed, tests, err := t.changedSince(ctx, base.Entry)
	if err != nil {
		return nil, err
	}
	for _, name := range changed {
		if !slices.Contains(tests, name) {
			return &testfirst.Cheat{Code: testfirst.CheatCode, Message: name + " was changed, and is no test: tests come first, code after them"}, nil
		}
	}
	if err := t.addChanged(ctx, base.Base); err != nil {
		return nil, err
	}
	if base.Entry != base.Base {
		if t.facts, t.run, err = t.runWithout(ctx, base.Base); err != nil {
			return nil, err
		}
	}
	var declared []testfirst.Declaration
	for _, name := range t.evidence.Tests {
		before, after, err := t.contents(ctx, base.Base, name)
		if err != nil {
			return nil, err
		}
		if names := testfirst.Declared(name, after); len(names) > 0 {
			declared = append(declared, testfirst.Declaration{Now: names, Before: testfirst.Declared(name, before)})
		}
	}
	tests, found := testfirst.CheckNew(declared, testfirst.Run{Tests: base.Tests}, t.run, t.MaxPassRatio)
	t.countNew(tests)
	if found != nil {
		return found, nil
	}
	red := testRecord{Base: base.Base, Tests: map[string]string{}}
	maps.Copy(red.Tests, base.Tests)
	for _, name := range tests {
		if t.MaxPassRatio > 0 && t.run.Tests[name] == testfirst.Passed { // it stays like a test of before
			red.Tests[name] = testfirst.Passed
		} else {
			red.New = append(red.New, name)
		}
	}
	base.Done = true
	return nil, errors.Join(t.keep(ctx, red, testsName), t.keep(ctx, base, baseName, t.Node.ID))
}

// countNew replaces the counts and names in the facts by those of the new tests. A test that does not build has failed.
func (t *testFirstCheck) countNew(tests []string) {
	names := map[string][]string{}
	for _, name := range tests {
		status := cmp.Or(t.run.Tests[name], testfirst.Failed)
		names[status] = append(names[status], name)
	}
	t.facts["counts"] = map[string]int{"passed": len(names[testfirst.Passed]), "failed": len(names[testfirst.Failed]), "skipped": len(names[testfirst.Skipped])}
	t.facts["failed"], t.facts["passed_tests"] = names[testfirst.Failed], names[testfirst.Passed]
}

// judgeLater judges the code of GREEN and of REFACTOR: the tests are those of a snapshot, all ran, and they fail without
// the code.
func (t *testFirstCheck) judgeLater(ctx context.Context, red testRecord, tests string) (*testfirst.Cheat, error) {
	if cheat, err := t.compareTests(ctx, tests, false); cheat != nil || err != nil {
		return cheat, err
	}
	if err := t.addChanged(ctx, red.Base); err != nil {
		return nil, err
	}
	if cheat := testfirst.CheckRan(red.New, testfirst.Run{Tests: red.Tests}, t.run); cheat != nil || t.failed() {
		return cheat, nil
	}
	if len(t.evidence.Changed) == len(t.evidence.Tests) && len(red.New) > 0 {
		return &testfirst.Cheat{Code: testfirst.CheatNothing, Message: "no code was changed"}, nil
	}
	_, cheat, err := t.without(ctx, red, red.New)
	return cheat, err
}

// judgeFix judges a change with its own tests: a test fails without it and passes with it, and the tests of before stay.
func (t *testFirstCheck) judgeFix(ctx context.Context, base testRecord) (*testfirst.Cheat, error) {
	if cheat, err := t.compareTests(ctx, base.Base, true); cheat != nil || err != nil {
		return cheat, err
	}
	if err := t.addChanged(ctx, base.Base); err != nil {
		return nil, err
	}
	before := testfirst.Run{Tests: base.Tests}
	if cheat := testfirst.CheckRan(nil, before, t.run); cheat != nil || t.failed() {
		return cheat, nil
	}
	fixed := testfirst.Fixed(before, t.run)
	switch {
	case len(t.evidence.Changed) == len(t.evidence.Tests):
		return &testfirst.Cheat{Code: testfirst.CheatNothing, Message: "no code was changed"}, nil
	case len(fixed) == 0:
		return &testfirst.Cheat{Code: testfirst.CheatNothing, Message: "no test failed before the change and passes now: add a test that shows the fault"}, nil
	}
	fixed, cheat, err := t.without(ctx, base, fixed)
	if cheat != nil || err != nil {
		return cheat, err
	}
	return nil, t.keep(ctx, testRecord{Base: base.Base, Tests: base.Tests, New: fixed}, testsName)
}

// failed reports whether the run of the tests in the workspace failed. The facts have the reason.
func (t *testFirstCheck) failed() bool { return t.facts["passed"] != true }

// compareTests judges whether the tests, and the settings that decide which tests run, are those of a snapshot. added
// allows new files of tests.
func (t *testFirstCheck) compareTests(ctx context.Context, id string, added bool) (*testfirst.Cheat, error) {
	changed, err := t.snapshots.Changed(ctx, id, t.now)
	if err != nil {
		return nil, err
	}
	for _, name := range changed {
		before, after, err := t.contents(ctx, id, name)
		if err != nil {
			return nil, err
		}
		switch test := t.files.OnlyTests(name, before, after); {
		case t.files.TestPart(name, before) != t.files.TestPart(name, after) && (before != "" || !added):
			return &testfirst.Cheat{Code: testfirst.CheatTests, Message: name + " was changed: tests stay as they were written before the code"}, nil
		case !test && testfirst.TouchesFramework(before, after):
			return &testfirst.Cheat{Code: testfirst.CheatRunner, Message: name + " imports a test framework: code does not change how its tests are judged"}, nil
		case path.Base(name) == ".gitignore":
			ignored, err := t.snapshots.Ignored(ctx)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(ignored, t.files.IsTest); i >= 0 {
				return &testfirst.Cheat{Code: testfirst.CheatTests, Message: name + " was changed, and " + ignored[i] + " is ignored: restore it, or remove the ignored test"}, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // no cheat
}

// contents returns a file of a snapshot and of the workspace, "" where it is missing.
func (t *testFirstCheck) contents(ctx context.Context, id, name string) (before, after string, err error) {
	if before, err = t.snapshots.Read(ctx, id, name); err != nil {
		return "", "", err
	}
	after, err = t.snapshots.Read(ctx, t.now, name)
	return before, after, err
}

// addChanged adds the files that differ from the state before the work.
func (t *testFirstCheck) addChanged(ctx context.Context, base string) (err error) {
	t.evidence.Changed, t.evidence.Tests, err = t.changedSince(ctx, base)
	return err
}

// changedSince returns the files that differ from a snapshot, and which of them are tests.
func (t *testFirstCheck) changedSince(ctx context.Context, id string) (changed, tests []string, err error) {
	if changed, err = t.snapshots.Changed(ctx, id, t.now); err != nil {
		return nil, nil, err
	}
	for _, name := range changed {
		before, after, err := t.contents(ctx, id, name)
		if err != nil {
			return nil, nil, err
		}
		if t.files.OnlyTests(name, before, after) {
			tests = append(tests, name)
		}
	}
	return changed, tests, nil
}

// without judges that tests fail without the code, for a fix at least one of them, and returns them.
func (t *testFirstCheck) without(ctx context.Context, base testRecord, tests []string) ([]string, *testfirst.Cheat, error) {
	if len(tests) == 0 {
		return nil, nil, nil // the run began with tests of before
	}
	_, run, err := t.runWithout(ctx, base.Base)
	if err != nil {
		return nil, nil, err
	}
	failing, cheat := testfirst.CheckWithout(tests, testfirst.Run{Tests: base.Tests}, run, t.TestFirst == plan.TestFirstFix)
	return failing, cheat, nil
}

// runWithout runs the tests of the workspace on the files of a snapshot, in a directory of the session.
func (t *testFirstCheck) runWithout(ctx context.Context, base string) (map[string]any, testfirst.Run, error) {
	dir, err := t.snapshots.Export(ctx, t.Dir.Abs("."), base, t.now, t.evidence.Tests)
	defer snapshot.RemoveExport(dir)
	if err != nil {
		return nil, testfirst.Run{}, err
	}
	return t.runTests(ctx, dir)
}

// answer returns the answer of the check: the facts, without the names of all tests, which have a file of their own.
func (t *testFirstCheck) answer(found *testfirst.Cheat) (sdk.HookAnswer, error) {
	delete(t.facts, "tests")
	file, err := t.factsFile(t.Check)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	names, err := json.Marshal(t.run.Tests)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	if _, err := t.Dir.Write(strings.TrimSuffix(file, ".json")+".tests.json", append(names, '\n')); err != nil {
		return sdk.HookAnswer{}, err
	}
	reason, _ := t.facts["reason"].(string)
	switch {
	case found != nil:
		t.evidence.Code, reason = found.Code, found.Error()
	case t.TestFirst == plan.TestFirstBase || t.TestFirst == plan.TestFirstRed:
		reason = ""
	}
	t.facts["evidence"], t.facts["passed"] = t.evidence, reason == ""
	delete(t.facts, "reason")
	if reason != "" {
		t.facts["reason"] = reason
	}
	raw, err := json.Marshal(t.facts)
	return sdk.HookAnswer{Action: sdk.ActionContinue, Facts: raw}, err
}
