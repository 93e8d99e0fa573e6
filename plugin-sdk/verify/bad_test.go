package verify

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bad lists the plugins of the test. Each fails its rows and no others; rows that depend on failed rows are not
// applicable. TestComponents has the faults that need no process.
var bad = []struct {
	mode string
	rows []string // failing rows
	seen string   // part of the first failed row's observation
}{
	{"good", nil, ""},
	{"chatty", nil, ""},
	{"by-hand", []string{"by-hand"}, "exits 0"},
	{"mute", []string{"describe"}, "describe exits 3"},
	{"name", []string{"name"}, `name is "another-name"`},
	{"protocols", []string{"versions", "same-description"}, "protocols are [2]"},
	{"two-faced", []string{"same-description"}, "something else"},
	{"schema", []string{"schema"}, "value must be one of"},
	{"prints", []string{"stdout"}, "hello from the plugin"},
	{"dies", []string{"handshake"}, "cannot find my settings"},
	{"tcp", []string{"handshake"}, `the network is "tcp"`},
	{"newer", []string{"handshake"}, `the protocol version is "99"`},
	{"outside", []string{"socket"}, "/tmp/somewhere-else.sock is not in"},
	{"deaf", []string{"health"}, "no longer answers"},
	{"plain", []string{"go-plugin"}, "by mutual TLS"},
	{"init", []string{"init"}, "no licence"},
	{"silent", []string{"heartbeat"}, "stopped responding"},
	{"promiscuous", []string{"unknown-component"}, "Validate of provider no-such-component succeeds"},
	{"crash", []string{"config", "leak"}, "exit status 7"},
	{"braggart", []string{"honest"}, "claims success"},
	{"zero", []string{"usage"}, "0 tokens"},
	{"wilful", []string{"denied"}, "reported as success"},
	{"stranger", []string{"resume"}, `now it is "c-2"`},
	{"stubborn", []string{"cancel"}, "still runs"},
	{"endless", []string{"timeout"}, "still runs"},
	{"unclear", []string{"timeout"}, "ended as hook_failed"},
	{"curious", []string{"decides"}, "ask without a question's prompt"},
	{"moody", []string{"repeats"}, "first state"},
	{"clingy", []string{"release"}, "unknown session"},
	{"factual", []string{"answers"}, "not a JSON object"},
	{"twice", []string{"same-key"}, "that was done"},
	{"narrow", []string{"concurrent"}, "concurrent calls of Validate"},
	{"small", []string{"large"}, "larger than max"},
	{"fragile", []string{"garbage"}, "exit status 7"},
	{"strict", []string{"garbage"}, "unknown field"},
	{"leaky", []string{"leak"}, "open files grew"},
	{"hoarder", []string{"leak"}, "bytes of memory grew"},
	{"open", []string{"environment"}, "PLUGIN_"},
	{"no-goodbye", []string{"shutdown"}, "Shutdown"},
	{"no-sigterm", []string{"sigterm"}, "agent-plugin-no-sigterm"},
	{"no-stdin", []string{"stdin-eof"}, ""},
	{"escape", []string{"sigterm", "stdin-eof", "parent-death"}, "sleep 600"},
	{"immortal", []string{"sigterm", "stdin-eof", "parent-death"}, ""},
}

func TestBadPlugins(t *testing.T) {
	var modes []string
	for _, tt := range bad {
		modes = append(modes, tt.mode)
	}
	dir := build(t, modes)
	cases, err := ReadCases("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	reports := make([]Report, len(bad))
	faults := make([]error, len(bad))
	slots := make(chan struct{}, 12) // the runs mostly wait
	var runs sync.WaitGroup
	for i, tt := range bad {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			target := Target{Path: filepath.Join(dir, "agent-plugin-"+tt.mode)}
			reports[i], faults[i] = Run(t.Context(), target, Options{Cases: cases, Host: hostCommand, scale: scale{silence: time.Second, bytes: 5 << 20, calls: 300}})
		})
	}
	runs.Wait()
	for i, tt := range bad {
		t.Run(tt.mode, func(t *testing.T) {
			if faults[i] != nil {
				t.Fatal(faults[i])
			}
			expect(t, reports[i], tt.rows, tt.seen)
		})
	}
}

// expect checks that exactly the rows fail, the first of them with the observation seen. Rows that
// are not applicable must depend on a failed row.
func expect(t *testing.T, report Report, rows []string, seen string) {
	t.Helper()
	var failed []string
	for _, row := range report.Rows {
		switch {
		case row.Result == Fail && !slices.Contains(failed, row.ID):
			failed = append(failed, row.ID)
			if len(failed) == 1 && !strings.Contains(row.Seen, seen) {
				t.Errorf("%s: saw %q, want %q in it", row.ID, row.Seen, seen)
			}
			if row.Do == "" {
				t.Errorf("%s: nothing to do is said", row.ID)
			}
		case row.Result == NotApplicable && !strings.HasPrefix(row.Seen, "not tried, because "):
			t.Errorf("%s %s: not applicable: %s", row.ID, row.Component, row.Seen)
		}
	}
	slices.Sort(failed)
	want := slices.Sorted(slices.Values(rows))
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("failed rows (-want +got)\n%s", diff)
		for _, row := range report.Rows {
			if row.Result == Fail {
				t.Logf("%s %s: %s", row.ID, row.Component, row.Seen)
			}
		}
	}
	if report.OK() != (len(rows) == 0) {
		t.Errorf("OK is %t", report.OK())
	}
}
