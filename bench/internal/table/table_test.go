package table_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := table.Write(&b, []table.Row{
		{Part: "calls", Name: "call", Ours: sample.Series{300e-6, 200e-6, 400e-6}, Peer: "floor", Theirs: sample.Series{100e-6, 100e-6, 100e-6}, Each: 20, Target: "at most 4×"},
		{Name: "run", Ours: sample.Series{1.5}, Peer: "loop", Theirs: sample.Series{0.0125}},
		{Name: "memory", Unit: table.Bytes, Ours: sample.Series{28.4e6}, Peer: "target", Theirs: sample.Series{100e6}},
		{Name: "tiny", Ours: sample.Series{250e-9}, Peer: "nothing", Theirs: sample.Series{100}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := table.Header + `
|---|---|---:|---|---:|---:|---|---:|
| calls | call | 300 µs [250 µs, 350 µs] | floor | 100 µs | 3.00× [2.50×, 3.50×] | at most 4× | 3 × 20 |
|  | run | 1.50 s | loop | 12.5 ms | 120× |  | 1 |
|  | memory | 28.4 MB | target | 100 MB | 0.28× | at most 1× | 1 |
|  | tiny | 250 ns | nothing | 100 s | 0.0000× |  | 1 |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRowsThatCannotBeShown(t *testing.T) {
	tests := map[string]table.Row{
		"empty":     {},
		"unequal":   {Ours: sample.Series{1, 2}, Theirs: sample.Series{1}},
		"zero peer": {Ours: sample.Series{1}, Theirs: sample.Series{0}},
		"zero":      {Ours: sample.Series{0}, Theirs: sample.Series{1}},
		"negative":  {Ours: sample.Series{-1}, Theirs: sample.Series{1}},
		"no number": {Ours: sample.Series{math.NaN()}, Theirs: sample.Series{1}},
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			if err := table.Write(&strings.Builder{}, []table.Row{row}); err == nil {
				t.Error("it is shown")
			}
		})
	}
}

func TestReplace(t *testing.T) {
	document := "# Title\n\n" + table.Begin + "\nold\n" + table.End + "\n\nrest\n"
	got, err := table.Replace(document, "new\n\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Title\n\n" + table.Begin + "\nnew\n" + table.End + "\n\nrest\n"; got != want {
		t.Errorf("got %q", got)
	}
	for name, broken := range map[string]string{
		"no marks":    "text\n",
		"no end":      table.Begin + "\n",
		"wrong order": table.End + "\n" + table.Begin + "\n",
		"twice":       document + document,
	} {
		if _, err := table.Replace(broken, "new"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzReplace checks that the text outside the marks stays, and that a second replacement changes nothing.
func FuzzReplace(f *testing.F) {
	f.Add("a\n" + table.Begin + "\nold\n" + table.End + "\nb\n")
	f.Add(table.End + "\n" + table.Begin + "\n")
	f.Fuzz(func(t *testing.T, document string) {
		once, err := table.Replace(document, "new")
		if err != nil {
			return
		}
		before, _, _ := strings.Cut(document, table.Begin)
		_, after, _ := strings.Cut(document, table.End)
		if !strings.HasPrefix(once, before) || !strings.HasSuffix(once, after) {
			t.Errorf("text outside the marks changed: %q", once)
		}
		if twice, err := table.Replace(once, "new"); err != nil || twice != once {
			t.Errorf("replaced again: %q, %v", twice, err)
		}
	})
}
