package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// line returns a line of this journal; bash is a line of the Bash engine.
func line(seq int64, epoch int, kind event.Type) string {
	return fmt.Sprintf(`{"ts":"2026-01-01T00:00:00Z","type":%q,"session":"s","cursor":null,"data":{},"seq":%d,"run_id":"r","epoch":%d}`+"\n", kind, seq, epoch)
}

const bash = `{"ts":"2026-01-01T00:00:00Z","type":"node_start","session":"s","cursor":{"node_path":"0","node_run":0,"iteration":0},"data":{}}` + "\n"

func TestRead(t *testing.T) {
	one, two, three := line(1, 1, "session_start"), line(2, 1, "kernel_start"), line(3, 1, "node_start")
	tests := map[string]struct {
		text    string
		want    []int64
		report  journal.Report
		damaged bool
	}{
		"empty":             {"", nil, journal.Report{}, false},
		"whole":             {one + two + three, []int64{1, 2, 3}, journal.Report{}, false},
		"only newline lost": {one + strings.TrimSuffix(two, "\n"), []int64{1, 2}, journal.Report{}, false},
		"empty lines":       {"\n" + one + "\n \n" + two, []int64{1, 2}, journal.Report{}, false},
		"torn tail":         {one + two[:40], []int64{1}, journal.Report{TornTail: true}, false},
		"torn only line":    {one[:1], nil, journal.Report{TornTail: true}, false},
		"torn line of an earlier crash": {
			one + two[:40] + "\n" + two,
			[]int64{1, 2},
			journal.Report{BadLines: []journal.BadLine{{Line: 2}}},
			false,
		},
		"bad line at the end": {
			one + "garbage\n",
			[]int64{1},
			journal.Report{SuspectTail: true, BadLines: []journal.BadLine{{Line: 2}}},
			true,
		},
		"lost line": {
			one + "garbage\n" + three,
			[]int64{1, 3},
			journal.Report{
				BadLines: []journal.BadLine{{Line: 2}},
				Gaps:     []journal.Gap{{Line: 3, After: 1, Before: 3}},
			},
			true,
		},
		"lost line of an earlier run": {
			one + "garbage\n" + three + line(5, 2, "session_start"), []int64{1, 3, 5}, journal.Report{}, false,
		},
		"our run after damage of Bash's": {bash + "x\n" + bash + line(3, 1, "session_start"), []int64{1, 2, 3}, journal.Report{}, false},
		"lost beginning":                 {three, []int64{3}, journal.Report{Gaps: []journal.Gap{{Line: 1, Before: 3}}}, true},
		"twice": {
			one + two + two + three,
			[]int64{1, 2, 3},
			journal.Report{Stale: []journal.StaleLine{{Line: 3, Type: "kernel_start", Seq: 2}}},
			false,
		},
		"late line of an outdated kernel": {
			one + line(2, 2, "kernel_start") + line(3, 1, "node_start") + line(3, 2, "node_start"),
			[]int64{1, 2, 3},
			journal.Report{Stale: []journal.StaleLine{{Line: 3, Type: "node_start", Seq: 3}}},
			false,
		},
		"bash":           {bash + bash, []int64{1, 2}, journal.Report{Unnumbered: 2}, false},
		"bash with loss": {bash + "x\n" + bash, []int64{1, 2}, journal.Report{Unnumbered: 2, BadLines: []journal.BadLine{{Line: 2}}}, true},
		"bash, then we":  {bash + two + bash, []int64{1, 2, 3}, journal.Report{Unnumbered: 2}, false},
		"unknown type":   {one + line(2, 1, "later_invention"), []int64{1, 2}, journal.Report{}, false},
		"long line": {
			one + strings.Repeat("x", 3<<20) + "\n" + two,
			[]int64{1, 2},
			journal.Report{BadLines: []journal.BadLine{{Line: 2}}},
			false,
		},
		"long line at the end": {one + strings.Repeat("x", 3<<20), []int64{1}, journal.Report{TornTail: true}, false},
		"negative number":      {one + strings.Replace(two, `"seq":2`, `"seq":-2`, 1) + two, []int64{1, 2}, journal.Report{BadLines: []journal.BadLine{{Line: 2}}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			put(t, d, tt.text)
			log := read(t, d)
			var seqs []int64
			for _, e := range log.Events {
				seqs = append(seqs, e.Seq)
			}
			compare(t, tt.want, seqs)
			reasons := cmpopts.IgnoreFields(journal.BadLine{}, "Reason")
			if diff := cmp.Diff(tt.report, log.Report, reasons, cmpopts.IgnoreFields(journal.StaleLine{}, "Reason")); diff != "" {
				t.Error(diff)
			}
			compare(t, tt.damaged, log.Report.Damaged())
		})
	}
}

func TestReadNoJournal(t *testing.T) {
	log := read(t, openDir(t))
	require(t, log.Events == nil, log)
}

func TestReadStopsAtUnknownCriticalEvent(t *testing.T) {
	must := strings.Replace(line(2, 1, "later_invention"), `"seq"`, `"must":true,"seq"`, 1)
	newer := strings.Replace(line(2, 1, "session_start"), `"data":{}`, `"data":{"journal_version":99}`, 1)
	for name, bad := range map[string]string{"type": must, "version": newer} {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			put(t, d, line(1, 1, "session_start")+bad+line(3, 1, "node_start"))
			log, err := readAll(d)
			require(t, failure.KindOf(err) == failure.StateCorrupt && len(log.Events) == 1, len(log.Events), err)
			if _, _, err := journal.Open(t.Context(), d, journal.Options{}, func(event.Event) {}); failure.KindOf(err) != failure.StateCorrupt {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	got := []string{
		journal.BadLine{Line: 2, Reason: "no type"}.String(),
		journal.Gap{Line: 5, After: 3, Before: 6}.String(),
		journal.StaleLine{Line: 7, Seq: 4, Type: "error", Reason: "epoch 1 is outdated, 2 has begun"}.String(),
	}
	want := []string{
		"line 2: no type", "line 5: events 4 to 5 are missing",
		"line 7: event 4 (error) is not counted: epoch 1 is outdated, 2 has begun",
	}
	compare(t, want, got)
}

// Lines appended after a torn tail are readable, and so is a tail without its newline.
func TestAppendBehindATornTail(t *testing.T) {
	one, two := line(1, 1, "session_start"), line(2, 1, "kernel_start")
	tests := map[string]struct {
		text string
		want string
	}{
		"torn":              {one + two[:50], "session_start session_paused session_paused"},
		"only newline lost": {one + two[:len(two)-1], "session_start kernel_start session_paused session_paused"},
		"bash, torn":        {bash + bash[:30], "node_start session_paused session_paused"},
		"nothing but torn":  {one[:10], "session_paused session_paused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			put(t, d, tt.text)
			j := open(t, d, journal.Options{})
			for range 2 {
				must(j.Append(t.Context(), stateEvent("x")))
			}
			log := read(t, d)
			got := types(log.Events)
			require(t, got == tt.want && len(log.Report.Gaps)+len(log.Report.Stale) == 0, got, log.Report)
			require(t, strings.HasPrefix(content(t, d), tt.text+"\n"), "the file changed")
		})
	}
}

// A reader may stop with an error and gets that error.
func TestReadStopsWithTheReadersError(t *testing.T) {
	d := openDir(t)
	put(t, d, line(1, 1, "session_start")+line(2, 1, "kernel_start")+line(3, 1, "node_start"))
	enough := errors.New("enough")
	var got []event.Event
	log, err := journal.Read(d, func(e event.Event) error {
		if got = append(got, e); len(got) == 2 {
			return enough
		}
		return nil
	})
	require(t, errors.Is(err, enough) && types(got) == "session_start kernel_start" && log.Count == 2 && log.Last.Seq == 2, types(got), log.Count, log.Last.Seq, err)
}

// Open yields the same events as Read.
func TestOpenYieldsEvents(t *testing.T) {
	d := openDir(t)
	put(t, d, line(1, 1, "session_start")+line(2, 1, "kernel_start")+`{"torn`)
	var got []event.Event
	j, log, err := journal.Open(t.Context(), d, journal.Options{}, func(e event.Event) { got = append(got, e) })
	check(t, err)
	defer j.Close()
	want := read(t, d)
	compare(t, want.Events, got)
	want.Chain = log.Chain // Read does not check it
	compare(t, want.Summary, log)
	require(t, log.Count == 2 && log.Report.TornTail, log)
}
