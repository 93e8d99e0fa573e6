package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A sweep locks only files that name a dead process: the maker of a new file is about to lock it, and would be
// refused.
func TestLooksDead(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"just made":   {"", false},
		"no lock":     {"not json", false},
		"alive":       {fmt.Sprintf(`{"session":"s","pid":%d}`, os.Getppid()), false},
		"dead":        {`{"session":"s","pid":999999999}`, true},
		"our number":  {fmt.Sprintf(`{"session":"s","pid":%d}`, os.Getpid()), true}, // may be of an earlier process; the flock says
		"number over": {fmt.Sprintf(`{"session":"s","pid":%d,"start_time":"x/1"}`, os.Getppid()), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(OpenProject(t.TempDir()))
			defer p.Close()
			if dead, err := isDeadLock(p, "s"); dead || err != nil {
				t.Errorf("no file: %t, %v", dead, err)
			}
			file := p.Abs(LockFile("s"))
			check(t, os.MkdirAll(filepath.Dir(file), 0o755))
			check(t, os.WriteFile(file, []byte(tt.text), 0o600))
			if dead, err := isDeadLock(p, "s"); dead != tt.want || err != nil {
				t.Errorf("%t, %v", dead, err)
			}
		})
	}
}
