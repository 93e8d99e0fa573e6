package event

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Keys are stable and can be parsed.
func TestKeys(t *testing.T) {
	tests := []struct {
		place Location
		kind  KeyKind
		n     int
		want  Key
	}{
		{Location{Node: "0", Visit: 1, Run: 1, Iteration: 3}, KeyAttempt, 1, "attempt:0/v1/r1/-/-/i3#1"},
		{Location{Node: "2.1", Visit: 2, Run: 3, Branch: "codex", Step: "s-1", Iteration: 12}, KeyDecide, 4, "decide:2.1/v2/r3/codex/s-1/i12#4"},
	}
	for _, tt := range tests {
		key := tt.place.Key(tt.kind, tt.n)
		if key != tt.want {
			t.Errorf("key %q, want %q", key, tt.want)
		}
		kind, loc, n, ok := key.Parse()
		if !ok || kind != tt.kind || loc != tt.place || n != tt.n || key.Kind() != tt.kind {
			t.Errorf("%q parsed as %v %v %d %v", key, kind, loc, n, ok)
		}
	}
	for _, bad := range []Key{"", "attempt", "attempt:0", "attempt:0/v1/r1/-/-/i3", "attempt:0/v1/r1/-/i3#1", "ATTEMPT:0/v1/r1/-/-/i3#1", "attempt:0/v99999999999/r1/-/-/i1#1"} {
		if _, _, _, ok := bad.Parse(); ok {
			t.Errorf("%q is no key", bad)
		}
	}
}

// U222, K19: a line has the Bash engine's keys first, in its order, then this engine's keys. Each group has a time.
func TestLine(t *testing.T) {
	e := New(IterationStart, Location{Node: "1", Visit: 1, Run: 1, Iteration: 2}.Cursor(), "attempt:1/v1/r1/-/-/i2#1",
		IterationStartData{Stage: "b", Type: "tick", Provider: "claude", Model: "opus"})
	e.Time = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	e.Seq, e.Epoch, e.RunID, e.Session, e.Attempt = 9, 2, "PL-1", "demo", 1
	line := must(e.AppendLine(nil))
	const want = `{"ts":"2026-01-02T03:04:05Z","type":"iteration_start","session":"demo",` +
		`"cursor":{"node_path":"1","node_run":2,"iteration":2},"data":{"stage":"b","type":"tick","provider":"claude","model":"opus"},` +
		`"timestamp":"2026-01-02T03:04:05.678Z","v":1,"seq":9,"run_id":"PL-1","epoch":2,"key":"attempt:1/v1/r1/-/-/i2#1","attempt":1,`
	if got := string(line); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\"}\n") {
		t.Errorf("line\n%s\nwant\n%s…", got, want)
	}
	var ids struct{ TraceID, SpanID, ParentSpanID string }
	var raw map[string]any
	if err := json.Unmarshal(line, &raw); err != nil {
		t.Fatal(err)
	}
	ids.TraceID, _ = raw["trace_id"].(string)
	ids.SpanID, _ = raw["span_id"].(string)
	ids.ParentSpanID, _ = raw["parent_span_id"].(string)
	if len(ids.TraceID) != 32 || len(ids.SpanID) != 16 || len(ids.ParentSpanID) != 16 || ids.SpanID == ids.ParentSpanID { // W3C widths
		t.Errorf("trace ids %+v", ids)
	}
}

// An agent's text cannot produce a journal that other readers refuse.
func TestLineIsUTF8(t *testing.T) {
	e := New(ToolCall, nil, "", ToolCallData{CallID: "c1", Tool: "Bash", Args: json.RawMessage("{\"command\":\"a\xff\xfeb\"}")})
	got := must(e.AppendLine(nil))
	if want := "\"args\":{\"command\":\"a\uFFFDb\"}"; !utf8.Valid(got) || !strings.Contains(string(got), want) {
		t.Errorf("line %q, want %q in it", got, want)
	}
}

// A line of the Bash engine, without numbers and keys, can be read.
func TestBashLine(t *testing.T) {
	e := must(ParseLine([]byte(`{"ts":"2026-02-05T10:00:00Z","type":"node_complete","session":"cr2","cursor":{"node_path":"0","node_run":2,"iteration":2},"data":{"name":"a","status":"complete"}}` + "\n")))
	d, err := Decode[NodeCompleteData](e)
	if err != nil || e.Type != NodeComplete || e.Seq != 0 || e.Cursor.Iteration != 2 || d.Status != "complete" || e.Time.Year() != 2026 {
		t.Errorf("%+v %+v %v", e, d, err)
	}
}

func TestLineErrors(t *testing.T) {
	for _, bad := range []string{"", "{", "[]", `{"ts":"2026-02-05T10:00:00Z"}`, `{"type":"x","ts":"yesterday"}`, `{"type":"x"}`} {
		if e, err := ParseLine([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, e)
		}
	}
	long := New(Error, nil, "", FailureData{Message: strings.Repeat("x", MaxLine)})
	if _, err := long.AppendLine(nil); err == nil {
		t.Error("a line over the limit was rendered")
	}
	broken := Event{Type: Error, Data: json.RawMessage("{")}
	if _, err := broken.AppendLine(nil); err == nil {
		t.Error("broken data was rendered")
	}
}

// Rendering and reading again gives the same line for every event.
func TestLinesAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Type(rapid.StringMatching(`[a-z_]{1,20}`).Draw(t, "type")), nil, Key(rapid.String().Draw(t, "key")),
			NodeCompleteData{Name: rapid.String().Draw(t, "name"), Reason: rapid.String().Draw(t, "reason")})
		e.Seq, e.Epoch, e.RunID = rapid.Int64Range(1, 1e9).Draw(t, "seq"), rapid.IntRange(0, 9).Draw(t, "epoch"), rapid.String().Draw(t, "run")
		e.Time = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		line := must(e.AppendLine(nil))
		read := must(ParseLine(line))
		again := must(read.AppendLine(nil))
		if diff := cmp.Diff(string(line), string(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Informative events are those whose loss in a crash is harmless.
func TestInformative(t *testing.T) {
	for e, want := range map[*Event]bool{
		{Type: NodeComplete}: false, {Type: ToolCall}: false, {Type: StageTransition}: true, {Type: ToolCall, Volatile: true}: true,
	} {
		if e.Informative() != want {
			t.Errorf("%+v: %v", e, !want)
		}
		if !e.Type.Known() {
			t.Errorf("%s is not known", e.Type)
		}
	}
	if Type("from_the_future").Known() {
		t.Error("an unknown type is known")
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"ts":"2026-02-05T10:00:00Z","type":"error","session":"s","cursor":null,"data":{}}`))
	f.Add([]byte(`{"ts":"9999-12-31T23:59:59-10:00","type":"error"}`))
	f.Add([]byte(`{"ts":"x","type":"error","timestamp":"2026-01-02T03:04:05.678Z","seq":3,"key":"attempt:0/v1/r1/-/-/i1#1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseLine(data)
		if err != nil {
			return
		}
		line, err := e.AppendLine(nil)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		if _, err := ParseLine(line); err != nil {
			t.Errorf("%q does not read back: %v", line, err)
		}
		_, loc, n, ok := e.Key.Parse()
		if ok && loc.Key(e.Key.Kind(), n) == "" {
			t.Error("a key without a text")
		}
	})
}

func ourLine(tb testing.TB) []byte {
	tb.Helper()
	text, err := Event{
		Type: IterationStart, Session: "s", Cursor: &Cursor{NodePath: "0", Iteration: 1, Provider: "p", Visit: 2}, Data: json.RawMessage(`{"a":[{},[1,-0.5E+3,true,null]],"b":"\u00e9\n","\"c":0}`),
		Seq: 12, RunID: "PL-1", Epoch: 1, Key: Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}.Key(KeyAttempt, 1), Attempt: 1,
	}.AppendLine(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// BenchmarkQuick reads a line with both parsers; ours-per-json is the ratio of their times.
func BenchmarkQuick(b *testing.B) {
	text := ourLine(b)
	var ours, theirs time.Duration
	for b.Loop() {
		began := time.Now()
		if !new(Line).parseFast(text) {
			b.Fatal("not read quickly")
		}
		between := time.Now()
		if err := json.Unmarshal(text, new(Line)); err != nil {
			b.Fatal(err)
		}
		ours += between.Sub(began)
		theirs += time.Since(between)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ours-per-json")
}

// The fast parser accepts the lines of this engine. Except for trace ids, its results equal those of encoding/json.
func FuzzQuick(f *testing.F) {
	ours := ourLine(f)
	if !new(Line).parseFast(ours) {
		f.Fatalf("not read quickly: %s", ours)
	}
	f.Add(ours)
	for _, seed := range []string{
		`{"type":"error","cursor":null,"data":null,"v":1}`, `{"type":"x","type":"y"}`, `{"seq":1.0}`, `{"seq":-1}`, `{"seq":01}`, `{"must":null}`, `{"trace_id":5}`, `{"TYPE":"x"}`,
		"{}x", "{", "null", `{"data":{"a":nul}}`, `{"data":"` + "\x01" + `"}`, `{"data":{},"data":[]}`, `{"cursor":{"run":1},"cursor":{"visit":1}}`, `{"cursor":{"phase":"x"}}`, `{"data":-}`, `{"data":1e}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want Line
		if !got.parseFast(text) {
			return
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q is no line: %v", text, err)
		}
		want.TraceID, want.SpanID, want.ParentSpanID = "", "", ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
