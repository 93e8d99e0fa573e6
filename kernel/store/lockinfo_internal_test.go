package store

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartTime(t *testing.T) {
	one, known := processStart(os.Getpid())
	again, _ := processStart(os.Getpid())
	if !known || one == "" || one != again {
		t.Errorf("of this process: %q, then %q", one, again)
	}
	if parent, _ := processStart(os.Getppid()); parent == one {
		t.Errorf("the parent started at the same time: %q", parent)
	}
	if got, known := processStart(999999999); known || got != "" {
		t.Errorf("of no process: %q", got)
	}
}

// A rendered lock reads as the same.
func FuzzParse(f *testing.F) {
	f.Add(`{"session":"s","pid":412,"started_at":"2026-03-01T12:00:00Z"}`)
	f.Add(`{"session":"s","pid":412,"started_at":"yesterday","start_time":"b/7","host":"h","marker":"m@1.2"}`)
	f.Add(`{"pid":-1}`)
	f.Add(`{"pid":1e3,"host":[]}`)
	f.Add("[]")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		info, ok := parseLock([]byte(text))
		if !ok {
			if info != (LockInfo{}) {
				t.Errorf("unreadable, yet %+v", info)
			}
			return
		}
		if info.PID <= 0 {
			t.Fatalf("pid %d", info.PID)
		}
		again := must(info.render())
		back, ok := parseLock(again)
		if diff := cmp.Diff(info, back); diff != "" || !ok {
			t.Errorf("%t %s", ok, diff)
		}
	})
}
