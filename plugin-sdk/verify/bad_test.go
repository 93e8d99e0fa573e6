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

// Each bad plugin fails the rows that it is bad in, and no other but those that follow.
var bad = []struct {
	mode string
	rows []string // that fail
	seen string   // in the first of them
}{
	{"good", nil, ""},
	{"chatty", nil, ""},
	{"by-hand", []string{"by-hand"}, "exits 0"},
	{"mute", []string{"describe"}, "describe exits 3"},
	{"name", []string{"name"}, `calls itself "somebody-else"`},
	{"protocols", []string{"versions", "same-description"}, "protocols are [2]"},
	{"two-faced", []string{"same-description"}, "something else"},
	{"schema", []string{"schema"}, "objekt is no type"},
	{"prints", []string{"stdout"}, "hello from the plugin"},
	{"dies", []string{"handshake"}, "cannot find my settings"},
	{"tcp", []string{"handshake"}, `the network is "tcp"`},
	{"newer", []string{"handshake"}, `the protocol version is "99"`},
	{"outside", []string{"socket"}, "/tmp/somewhere-else.sock does not lie in"},
	{"deaf", []string{"health"}, "does not answer"},
	{"plain", []string{"go-plugin"}, "by mutual TLS"},
	{"init", []string{"init"}, "no licence"},
	{"silent", []string{"heartbeat"}, "stopped responding"},
	{"anybody", []string{"unknown-component"}, "Validate of provider no-such-component succeeds"},
	{"careless", []string{"config"}, "accepts"},
	{"vague", []string{"config"}, `as "provider_failed"`},
	{"crash", []string{"config", "leak"}, "exit status 7"},
	{"any-model", []string{"models"}, "Validate takes verify-no-such-model"},
	{"speechless", []string{"success"}, "without any output"},
	{"braggart", []string{"honest"}, "claims success"},
	{"zero", []string{"usage"}, "0 tokens"},
	{"always", []string{"usage"}, "usage: always, but the attempt reports none"},
	{"undeclared", []string{"traits"}, "does not claim: observed_tools"},
	{"wilful", []string{"denied"}, "reported as success"},
	{"forgetful", []string{"resume"}, "asked for again"},
	{"stranger", []string{"resume"}, `now it is "c-2"`},
	{"stubborn", []string{"cancel"}, "goes on"},
	{"eager", []string{"cancel"}, "claims success"},
	{"careless-end", []string{"cancel"}, "leaves processes behind"},
	{"endless", []string{"timeout"}, "goes on"},
	{"unclear", []string{"timeout"}, "ended as hook_failed"},
	{"curious", []string{"decides"}, "ask without a question's prompt"},
	{"moody", []string{"repeats"}, "first state"},
	{"clingy", []string{"release"}, "who is that?"},
	{"factual", []string{"answers"}, "no JSON object"},
	{"twice", []string{"same-key"}, "that was done"},
	{"narrow", []string{"concurrent"}, "Validate at once"},
	{"small", []string{"large"}, "larger than max"},
	{"short", []string{"large-output"}, "8 bytes came back"},
	{"fragile", []string{"garbage"}, "exit status 7"},
	{"strict", []string{"garbage"}, "nobody knows"},
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
	seats := make(chan struct{}, 6) // they wait more than they work
	var runs sync.WaitGroup
	for i, tt := range bad {
		seats <- struct{}{}
		runs.Go(func() {
			defer func() { <-seats }()
			target := Target{Path: filepath.Join(dir, "agent-plugin-"+tt.mode)}
			reports[i], faults[i] = Run(t.Context(), target, Options{Cases: cases, Host: hostCommand, silence: time.Second, large: 5 << 20, calls: 300})
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

// expect looks at a report: these rows fail, the first with these words; what is not applicable follows
// from one of them.
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
