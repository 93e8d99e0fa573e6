package artifact

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func session(t *testing.T) *store.Dir {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	return dir
}

func TestParse(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
	for _, tt := range []struct {
		name, text string
		want       map[string]any
		fault      string
	}{
		{"YAML", "a: 1\nb: [yes, 2026-01-02, 1.5]\n", map[string]any{"a": 1, "b": []any{"yes", "2026-01-02", 1.5}}, ""},
		{"JSON", `{"a":1,"b":1.5,"c":12345678901234567890,"d":9007199254740993}`, map[string]any{"a": 1, "b": 1.5, "c": 12345678901234567890.0, "d": 9007199254740993}, ""},
		{"with an envelope of its own", "a: 1\n_metadata: 3\n", map[string]any{"a": 1, metadataKey: 3}, ""},
		{"empty", " \n", nil, "it is empty"},
		{"text", "just text", nil, "must be an object, not text"},
		{"null", "null", nil, "must be an object, not null"},
		{"a number", "3", nil, "must be an object, not a number"},
		{"two documents", "a: 1\n---\nb: 2\n", nil, "line 2, column 1: the file holds more than one YAML document"},
		{"a key twice", "a: 1\na: 2\n", nil, "is repeated"},
		{"a tag", "a: !x 1\n", nil, "tag !x is not supported"},
		{"aliases that multiply", bomb, nil, "values once its aliases are expanded"},
		{"an alias of itself", "a: &a [*a]\n", nil, "inside of its own value"},
		{"deep YAML", strings.Repeat("[", 200) + strings.Repeat("]", 200) + "x", nil, "VAL-004"},
		{"deep JSON", `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", nil, "levels"},
		{"more values than YAML may have", "a: [" + strings.Repeat("1, ", 100_001) + "x]", nil, "more than 100000 values"},
		{"too many values", `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", maxValues), ",") + "]}", nil, "at most 4000000 values"},
		{"a large number", `{"a":1e999}`, nil, "too large"},
		{"no UTF-8", "a: \xff\n", nil, "is not UTF-8"},
		{"too long", strings.Repeat("x", plan.DefaultMaxBytes+1), nil, "$: VAL-009: must have at most 10485760 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, faults := parseObject([]byte(tt.text), plan.DefaultMaxBytes)
			if fault := faultLines(faults); (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) {
				t.Errorf("faults %q", fault)
			}
			testkit.Equal(t, tt.want, got)
		})
	}
}

// The first source with content counts, even if the content is invalid. If the contract names a source, only it counts.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, from         string
		yaml, json, output string
		result             string
		want               string // the file that contains it
		data               map[string]any
	}{
		{"the file", "", "a: 1", `{"a":2}`, "```yaml\na: 4\n```", `{"a":3}`, "artifact.yaml", map[string]any{"a": 1}},
		{"the other file", "", "", `{"a":2}`, "", `{"a":3}`, "artifact.json", map[string]any{"a": 2}},
		{"the result", "", "", "", "```yaml\na: 4\n```", `{"a":3}`, "result.json", map[string]any{"a": 3}},
		{"the output", "", "", "", "```yaml\na: 4\n```", "", "output.md", map[string]any{"a": 4}},
		{"a broken file hides the rest", "", "a: [", "", "", `{"a":3}`, "artifact.yaml", nil},
		{"only the file", FromFile, "", "", "", `{"a":3}`, "", nil},
		{"only the result", FromResult, "a: 1", "", "", `{"a":3}`, "result.json", map[string]any{"a": 3}},
		{"only the output", FromOutput, "a: 1", "", "a: 4", `{"a":3}`, "output.md", map[string]any{"a": 4}},
		{"nothing", "", "", "", "a: 4", "", "", nil},
		{"the call of the tool", "tool:submit", "call", `{"a":2}`, "", `{"a":3}`, "artifact-call.json", map[string]any{"a": 5}},
		{"no call of the tool", "tool:submit", "", `{"a":2}`, "", `{"a":3}`, "artifact.json", map[string]any{"a": 2}},
		{"its version", "", "a: 1\n_artifact_meta: {version: 1.7}", "", "", "", "artifact.yaml", map[string]any{"a": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := Sources{Dir: session(t), Iteration: store.Node("stage-00-plan").Iteration(1)}
			write := func(name, text string) *event.Ref {
				if text == "" {
					return nil
				}
				ref := testkit.Must(l.Dir.Write(name, []byte(text)))
				return &ref
			}
			if tt.yaml == "call" {
				write(l.Iteration.ArtifactCall(), `{"a":5}`)
			} else {
				write(l.Iteration.Artifact(), tt.yaml)
			}
			write(l.Iteration.ArtifactJSON(), tt.json)
			l.Output = write(l.Iteration.Output(), tt.output)
			if tt.result != "" {
				l.ResultMember = []byte(tt.result)
			}
			got, err := l.Find(&plan.Artifact{From: tt.from})
			if err != nil || got.From != tt.want || (got.Data == nil && got.From != "") != (len(got.Faults) > 0) {
				t.Errorf("%+v, %v", got, err)
			}
			testkit.Equal(t, tt.data, got.Data)
		})
	}
}

// A directory, a link that leaves the session, or a file that is too large is a fault of the agent.
func TestInvalidArtifactFiles(t *testing.T) {
	l := Sources{Dir: session(t), Iteration: store.Node("stage-00-plan").Iteration(1)}
	path := l.Dir.Abs(l.Iteration.Artifact())
	for name, put := range map[string]func() error{
		"a directory": func() error { return os.MkdirAll(path, 0o755) },
		"a link out":  func() error { return os.Symlink("/etc/passwd", path) },
		"too large":   func() error { return os.WriteFile(path, make([]byte, 1<<10+1), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
			testkit.OK(t, put())
			defer os.Remove(path)
			if got, err := l.Find(&plan.Artifact{MaxBytes: 1 << 10}); err != nil || got.From != "artifact.yaml" || len(got.Faults) != 1 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	l := Sources{Iteration: store.Node("n").Iteration(1)}
	for from, want := range map[string]string{
		FromFile: "the prompt must ask the agent to write it to the path of ${ARTIFACT}", FromResult: "as the member artifact of result.json", FromOutput: "in a fenced block", "": ", or end the reply", "tool:submit": "call the tool submit with it, or write it",
	} {
		f := failure.From(l.MissingError(&plan.Artifact{From: from}))
		if f.Kind != failure.ResultMissing || !f.Retryable || !strings.Contains(f.Hint, want) {
			t.Errorf("%q: %+v", from, f)
		}
	}
}

// D6: measured values overwrite the agent's values; a value that was not measured is a fault.
func TestFill(t *testing.T) {
	measured := map[string]Facts{
		"tests": {Type: "tests", ExitCode: new(1), Counts: map[string]int{"passed": 1, "failed": 2}, Failed: []string{"A", "B"}, Reason: "2 failed"},
		"lint":  {Type: "command", Passed: true, ExitCode: new(int)},
		"a.b":   {Type: "file", Passed: false},
		"none":  {Skipped: true},
	}
	for _, tt := range []struct {
		field, source string
		want          any
		fault         string
	}{
		{"x", "checks.tests.counts", map[string]any{"passed": 1, "failed": 2}, ""},
		{"x", "checks.tests.failed", []any{"A", "B"}, ""},
		{"x", "checks.tests.passed", []any{}, ""},
		{"x", "checks.tests.reason", "2 failed", ""},
		{"x", "checks.tests.exit_code", 1, ""},
		{"x", "checks.tests.total", 3, ""},
		{"x", "checks.tests.ok", false, ""},
		{"x", "checks.lint.ok", true, ""},
		{"x", "checks.lint.output", "", ""},
		{"x", "checks.lint.total", "claimed", "which was not measured"},
		{"x", "checks.none.ok", nil, ""},
		{"x", "checks.none.counts", nil, ""},
		{"x", "checks.lint.passed", true, ""},
		{"x", "checks.lint.failed", false, ""},
		{"x", "checks.lint.reason", "", ""},
		{"x", "checks.a.b.passed", false, ""},
		{"y.z", "checks.lint.passed", map[string]any{"z": true, "old": 1}, ""},
		{"w.z", "checks.lint.passed", map[string]any{"z": true}, ""},
		{"x", "checks.lint.counts", "claimed", "$.x: VAL-001: is checks.lint.counts, which was not measured"},
		{"x", "checks.a.b.exit_code", "claimed", "which was not measured"},
		{"x", "checks.other.passed", "claimed", "which was not measured"},
		{"x", "checks.tests.colour", "claimed", "which was not measured"},
		{"x", "tests.passed", "claimed", "which was not measured"},
	} {
		data := map[string]any{"x": "claimed", "y": map[string]any{"old": 1}, "w": 3}
		faults := Fill(data, &plan.Artifact{KernelFields: map[string]string{tt.field: tt.source}}, measured)
		if fault := faultLines(faults); (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) {
			t.Errorf("%s: faults %q", tt.source, fault)
		}
		if diff := cmp.Diff(tt.want, data[tt.field[:1]]); diff != "" {
			t.Errorf("%s: %s", tt.source, diff)
		}
	}
	f, err := ReadFacts([]byte(`{"type":"tests","passed_tests":["A"]}`))
	data := map[string]any{}
	if faults := Fill(data, &plan.Artifact{KernelFields: map[string]string{"p": "checks.t.passed"}}, map[string]Facts{"t": f}); err != nil || len(faults) > 0 || !cmp.Equal(data["p"], []any{"A"}) {
		t.Errorf("%v, %v, %v", data, faults, err)
	}
}

// A field whose name looks like a path does not hide the measured value at that path.
func TestFillIsNotHidden(t *testing.T) {
	data := map[string]any{"tests.ok": true}
	Fill(data, &plan.Artifact{KernelFields: map[string]string{"tests.ok": "checks.t.ok"}}, map[string]Facts{"t": {Passed: false}})
	if v := Field(data, "tests.ok"); v != false {
		t.Errorf("tests.ok is %v", v)
	}
	testkit.Equal(t, 1, Field(map[string]any{"a.b": 1, "a": map[string]any{}}, "a.b"))
}

func TestFaults(t *testing.T) {
	contract := &plan.Artifact{
		Schema:  json.RawMessage(`{"type":"object","required":["status"],"properties":{"status":{"enum":["pass","fail","unsure"]},"ok":{"type":"boolean"}}}`),
		Verdict: &plan.Verdict{Field: "status", Map: map[string]plan.Outcome{"pass": plan.OutcomeSuccess, "fail": plan.OutcomeFail}},
	}
	for text, want := range map[string]string{
		`{"status":"pass"}`:            "",
		`{"status":"pass","ok":3}`:     "$.ok: VAL-002: ",
		`{"status":"unsure"}`:          "$.status: VAL-008: must be one of fail, pass, not \"unsure\"\n",
		`{"status":"maybe"}`:           "$.status: VAL-008: ",
		`{}`:                           "$.status: VAL-001: ",
		`{"status":"unsure","ok":"x"}`: "$.ok: VAL-002: ",
	} {
		data, _ := parseObject([]byte(text), 1<<20)
		faults, err := Faults(data, contract)
		if got := faultLines(faults); err != nil || (got == "") != (want == "") || !strings.HasPrefix(got, want) || text == `{}` && len(faults) != 1 {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if _, err := Faults(map[string]any{}, &plan.Artifact{Schema: json.RawMessage(`{"type":"objekt"}`)}); err == nil || !strings.HasPrefix(err.Error(), "artifact.schema: ") {
		t.Errorf("a broken schema: %v", err)
	}
}

func TestVerdict(t *testing.T) {
	v := &plan.Verdict{Field: "review.ok", Map: map[string]plan.Outcome{"true": plan.OutcomeSuccess, "false": plan.OutcomeReject, "3": plan.OutcomeRetry}}
	for text, want := range map[string]plan.Outcome{`{"review":{"ok":true}}`: "success", `{"review":{"ok":false}}`: "reject", `{"review.ok":3}`: "retry", `{"review":{"ok":"true"}}`: "success"} {
		data, _ := parseObject([]byte(text), 1<<20)
		if o, fault := VerdictOutcome(data, v); o != want || fault != nil {
			t.Errorf("%s: %s, %v", text, o, fault)
		}
	}
	for _, text := range []string{`{}`, `{"review":true}`, `{"review":{"ok":null}}`, `{"review":{"ok":[]}}`} {
		data, _ := parseObject([]byte(text), 1<<20)
		if o, fault := VerdictOutcome(data, v); o != "" || fault == nil || fault.Code != schema.CodeMissing && fault.Code != schema.CodeEnum {
			t.Errorf("%s: %s, %v", text, o, fault)
		}
	}
	if o, fault := VerdictOutcome(map[string]any{}, nil); o != "" || fault != nil {
		t.Errorf("%s, %v", o, fault)
	}
}

// U146 to U148: a stored artifact is loaded unchanged, and loading changes nothing.
func TestKeep(t *testing.T) {
	d := session(t)
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "plan", Artifact: &plan.Artifact{Type: "task_plan", Version: "2.3"}}}}
	made := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	a := Artifact{
		Meta: NewMeta(&p.Nodes[0], made), Data: map[string]any{"goal": "x: y\n\n z", "n": []any{1, nil, map[string]any{"yes": "no"}}, "Upper": 0.5},
		Metadata: Metadata{PipelineID: "PL-1", Iteration: 2, TokensUsed: 7, DurationSeconds: 1.25},
	}
	ref, err := Write(d, p, event.Location{Node: "0", Visit: 3, Run: 1, Iteration: 2}, a)
	if err != nil || ref.Path != "artifacts/00-plan.v3.yaml" {
		t.Fatalf("%+v, %v", ref, err)
	}
	before := testkit.Must(os.ReadFile(d.Abs(ref.Path)))
	for range 2 {
		got := testkit.Must(Load(d, ref))
		testkit.Equal(t, a, got)
		got.Data["goal"] = "changed"
	}
	if after, err := os.ReadFile(d.Abs(ref.Path)); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%q became %q, %v", before, after, err)
	}
	testkit.OK(t, os.WriteFile(d.Abs(ref.Path), append(before, ' '), 0o644))
	if _, err := Load(d, ref); failure.KindOf(err) != failure.Tampered {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := Write(d, p, event.Location{Node: "9"}, a); err == nil {
		t.Error("a node that is not there has an artifact")
	}
}

func TestMeta(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	want := Meta{StageName: "n", ArtifactType: "generic", Version: "1.0", CreatedAt: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)}
	testkit.Equal(t, want, NewMeta(&plan.Node{ID: "n"}, made))
}

// U148: a malformed version is an error.
func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{"1": true, "1.0": true, "12.3.4": true, "0.1": false, "v1": false, "": false, "1.": false, "1.2.3.4": false} {
		raw, _ := json.Marshal(map[string]any{metaKey: map[string]any{"version": version}})
		if _, err := Parse(raw); (err == nil) != ok {
			t.Errorf("version %q: %v", version, err)
		}
	}
	plain, err := Parse([]byte("a: 1"))
	if err != nil || plain.CheckVersion(nil) != nil || plain.CheckVersion(&plan.Artifact{Version: "1.7"}) != nil || plain.CheckVersion(&plan.Artifact{Version: "2.0"}) == nil {
		t.Errorf("%+v, %v", plain, err)
	}
	for _, text := range []string{"[1]", "a: [", "_artifact_meta: 3", "_metadata: {iteration: x}", `_artifact_meta: {created_at: yesterday}`} {
		if a, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, a)
		}
	}
}

// U148: a version in the envelope whose first number differs from the contract's is a fault at the version's path.
func TestEnvelopeVersion(t *testing.T) {
	for written, ok := range map[string]bool{"2.0": true, "2": true, `"2.9"`: true, "1.0": false, `"3"`: false, "x": false, "null": false, "[2]": false} {
		l := Sources{Dir: session(t), Iteration: store.Node("n").Iteration(1), ResultMember: []byte("a: 1\n_artifact_meta: {version: " + written + "}\n_metadata: {}\n")}
		got, err := l.Find(&plan.Artifact{Version: "2.1"})
		if err != nil || (len(got.Faults) == 0) != ok || !cmp.Equal(got.Data, map[string]any{"a": 1}) {
			t.Errorf("%s: %+v, %v", written, got, err)
		}
		if !ok && (got.Faults[0].Path != "$._artifact_meta.version" || got.Faults[0].Code != schema.CodeConstraint) {
			t.Errorf("%s: %v", written, got.Faults)
		}
	}
}

// C6: an agent gets at most ten faults, in 2000 characters, and always the first one.
func TestDescribe(t *testing.T) {
	many := make([]schema.Fault, 20)
	for i := range many {
		many[i] = schema.Fault{Path: "$.a", Code: schema.CodeType, Message: "is wrong"}
	}
	if got := FaultData(many); len(got) != event.MaxFaults || got[9] != (event.Fault{Path: "$.a", Code: "VAL-002", Message: "is wrong"}) {
		t.Errorf("%d: %v", len(got), got)
	}
	for i := range many {
		many[i].Path, many[i].Message = "$."+strings.Repeat("ä", 900), strings.Repeat("x", 9000)
	}
	got := FaultData(many)
	size := 0
	for _, f := range got {
		size += len([]rune(f.Path + f.Code + f.Message))
	}
	if len(got) < 2 || size > 2000 {
		t.Errorf("%d faults of %d characters", len(got), size)
	}
	if all := faultLines(many); len(all) > maxFaultText+20_000 || !strings.Contains(all, "… and ") {
		t.Errorf("%d bytes", len(all))
	}
}

// An artifact that is large, or has more values than the YAML reader accepts, is stored as JSON, which is also YAML, and
// loaded unchanged.
func TestKeepLarge(t *testing.T) {
	d := session(t)
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "plan"}}}
	large, many := make([]any, 200_000), make([]any, yamldoc.MaxValues+1)
	for i := range large {
		large[i] = map[string]any{"id": i}
	}
	for i := range many {
		many[i] = i % 10
	}
	for _, list := range [][]any{large, many} {
		data := map[string]any{"list": list, "odd": "<a> \x7f \u0085 \ufeff \u2028 \uffff \t \" \\ 😀", "k: y": nil}
		a := Artifact{Meta: NewMeta(&p.Nodes[0], time.Unix(0, 0)), Data: data, Metadata: Metadata{PipelineID: "PL-1"}}
		ref := testkit.Must(Write(d, p, event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}, a))
		if text := testkit.Must(d.ReadRef(ref)); !bytes.HasPrefix(text, []byte("{\n\"_artifact_meta\": {")) || (ref.Size > minJSONBytes) != (len(list) == len(large)) {
			t.Errorf("%d bytes: %.100s", ref.Size, text)
		}
		testkit.Equal(t, a, testkit.Must(Load(d, ref)))
	}
}

// FuzzRender checks that the stored form is read as the same data.
func FuzzRender(f *testing.F) {
	f.Add(`{"a":[1,2.5,null,true,"x"],"b":{"c":"\u007f\ufeff\u0085"}}`)
	f.Add(`{"<<":"=","y":"no","~":" x\n"}`)
	f.Fuzz(func(t *testing.T, text string) {
		data, faults := parseObject([]byte(text), 1<<20)
		if len(faults) > 0 {
			return
		}
		a := Artifact{Meta: NewMeta(&plan.Node{ID: "plan"}, time.Unix(0, 0)), Data: stripEnvelope(data)}
		kept := testkit.Must(a.Render())
		got, err := Parse(kept)
		if err != nil {
			t.Fatalf("%v in %s", err, kept)
		}
		if diff := cmp.Diff(numbers(t, a.Data), numbers(t, got.Data)); diff != "" {
			t.Fatalf("%s in %s", diff, kept)
		}
	})
}

// Only missing fields are carried from the input: a null field stays.
func TestCarry(t *testing.T) {
	data := map[string]any{"own": 1, "null": nil, "deep": map[string]any{"a": 1}}
	input := map[string]any{"own": 2, "null": 2, "id": "R", "none": nil, "deep": map[string]any{"a": 2, "b": 2}, "other": 2, "far": map[string]any{"x": 2}}
	Carry(data, input, &plan.Artifact{Carry: []string{"own", "null", "id", "none", "deep.a", "deep.b", "far.x", "gone", "deep.gone.x"}})
	want := map[string]any{
		"own": 1, "null": nil, "id": "R", "none": nil, "deep": map[string]any{"a": 1, "b": 2}, "far": map[string]any{"x": 2},
	}
	testkit.Equal(t, want, data)
}

// C6, by reference: a large artifact is described by path, digest and fields, the largest first, without its data.
func TestOutline(t *testing.T) {
	d := session(t)
	data := map[string]any{"list": []any{1, 2, 3}, "id": "BODY", "deep": map[string]any{"a": nil}, "none": nil}
	for i := range maxFields {
		data[strings.Repeat("n", 90)+string(rune('a'+i%26))+string(rune('a'+i/26))] = i
	}
	got := Outline(d, event.Ref{Path: "artifacts/00-a.v1.yaml", SHA256: "abc", Size: 70_000}, data)
	head := "path: " + d.Abs("artifacts/00-a.v1.yaml") + "\nsize: 70000 bytes\nsha256: abc\nfields:\n- deep: an object of 1 fields, 10 bytes\n- list: a list of 3, 7 bytes\n- id: text, 6 bytes\n- none: null, 4 bytes\n"
	if !strings.Contains(got, head) || !strings.HasSuffix(got, "- and 4 smaller ones\n") || strings.Contains(got, "BODY") {
		t.Error(got)
	}
}
