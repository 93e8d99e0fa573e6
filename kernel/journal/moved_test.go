package journal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A renamed directory takes the open journal along, so that its path leads to another one or none. Nothing may
// then be written or created.
func TestRenamedDirectory(t *testing.T) {
	for name, replace := range map[string]bool{"away": false, "and replaced": true} {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			j := begin(t, d, journal.Options{})
			before := content(t, d)
			moved := d.Path() + "-moved"
			check(t, os.Rename(d.Path(), moved))
			if replace {
				check(t, os.Mkdir(d.Path(), 0o755))
			}
			for name, err := range map[string]error{"append": last(j.Append(t.Context(), stateEvent("late"))), "check": j.CheckEpoch(t.Context())} {
				if failure.KindOf(err) != failure.StateCorrupt || !strings.Contains(err.Error(), "removed or replaced while in use") || !strings.Contains(failure.From(err).Hint, "put it back") {
					t.Errorf("%s: %v", name, err)
				}
			}
			_ = j.Close()
			after, err := os.ReadFile(moved + "/" + store.EventsFile)
			if err != nil || string(after) != before {
				t.Errorf("%v\n%s", err, after)
			}
			if entries, err := os.ReadDir(d.Path()); replace != (err == nil) || len(entries) > 0 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

func last[T any](_ T, err error) error { return err }
