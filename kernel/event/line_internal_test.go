package event

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
		if !new(line).parseFast(text) {
			b.Fatal("not read quickly")
		}
		between := time.Now()
		if err := json.Unmarshal(text, new(line)); err != nil {
			b.Fatal(err)
		}
		ours += between.Sub(began)
		theirs += time.Since(between)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ours-per-json")
}

// The fast parser gives the same result as encoding/json for every line, and accepts the lines of this engine.
func FuzzQuick(f *testing.F) {
	ours := ourLine(f)
	if !new(line).parseFast(ours) {
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
		var got, want line
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
