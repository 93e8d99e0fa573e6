package verify

import (
	"maps"
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
	seen string   // part of the observation of the first of these rows
}{
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
	{"no-sigterm", []string{"sigterm"}, "no-sigterm"},
	{"no-stdin", []string{"stdin-eof"}, ""},
	{"escape", []string{"sigterm", "stdin-eof", "parent-death"}, "sleep 600"},
	{"immortal", []string{"sigterm", "stdin-eof", "parent-death"}, ""},
}

// together lists modes that share a plugin, because their rows do not depend on each other. A run of all rows takes a
// second of processor time.
var together = [][]string{
	{"chatty", "by-hand", "braggart", "wilful", "moody", "unclear"},
	{"zero", "stranger", "curious", "twice", "protocols"},
	{"stubborn", "clingy", "factual"},
	{"endless", "narrow", "two-faced"},
	{"promiscuous", "small", "open", "schema"},
	{"strict", "hoarder", "no-goodbye"},
	{"leaky", "no-sigterm"},
	{"silent", "no-stdin"},
}

func TestBadPlugins(t *testing.T) {
	groups := slices.Clone(together)
	for _, tt := range bad {
		if !slices.ContainsFunc(together, func(modes []string) bool { return slices.Contains(modes, tt.mode) }) {
			groups = append(groups, []string{tt.mode})
		}
	}
	var names []string
	for _, modes := range groups {
		names = append(names, strings.Join(modes, "-and-"))
	}
	dir := build(t, names)
	cases, err := ReadCases("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	reports := make([]Report, len(groups))
	faults := make([]error, len(groups))
	sideBySide(len(names), func(i int) {
		target := Target{Path: filepath.Join(dir, "agent-plugin-"+names[i])}
		reports[i], faults[i] = Run(t.Context(), target, Options{Cases: cases, Host: hostCommand, scale: scale{silence: time.Second, bytes: 5 << 20, calls: 300}})
	})
	for i, modes := range groups {
		t.Run(names[i], func(t *testing.T) {
			if faults[i] != nil {
				t.Fatal(faults[i])
			}
			expect(t, reports[i], modes)
		})
	}
}

// sideBySide calls run for each number below n, 12 at once, because the runs mostly wait.
func sideBySide(n int, run func(i int)) {
	slots := make(chan struct{}, 12)
	var runs sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			run(i)
		})
	}
	runs.Wait()
}

// expect checks that exactly the rows of the modes fail, with the observations of the modes. Rows that are not applicable
// must depend on a failed row.
func expect(t *testing.T, report Report, modes []string) {
	t.Helper()
	seen := map[string]string{} // by row: what the first failure saw
	for _, row := range report.Rows {
		switch {
		case row.Result == Fail:
			if _, again := seen[row.ID]; !again {
				seen[row.ID] = row.Seen
			}
			if row.Do == "" {
				t.Errorf("%s: nothing to do is said", row.ID)
			}
		case row.Result == NotApplicable && !strings.HasPrefix(row.Seen, "not tried, because "):
			t.Errorf("%s %s: not applicable: %s", row.ID, row.Component, row.Seen)
		}
	}
	want := map[string]bool{}
	for _, tt := range bad {
		if !slices.Contains(modes, tt.mode) {
			continue
		}
		for _, row := range tt.rows {
			want[row] = true
		}
		if len(tt.rows) > 0 && !strings.Contains(seen[tt.rows[0]], tt.seen) {
			t.Errorf("%s: saw %q, want %q in it", tt.rows[0], seen[tt.rows[0]], tt.seen)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("failed rows (-want +got)\n%s\nobservations: %q", diff, seen)
	}
	if report.OK() != (len(want) == 0) {
		t.Errorf("OK is %t", report.OK())
	}
}
