//go:build crashpoints

package store_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Wherever a holder dies, the session can be taken again.
func TestCrashedHolder(t *testing.T) {
	points := []string{
		"lock.acquire.before-write", "lock.acquire.after-write", "lock.release.before-remove", "lock.release.after-remove",
	}
	for _, name := range points {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			log := filepath.Join(t.TempDir(), "points")
			c := newChild(t, p, "AGENT_PIPELINES_CRASH_AT="+name, "AGENT_PIPELINES_CRASH_LOG="+log)
			c.start()
			_ = c.in.Close()
			_, _ = io.Copy(io.Discard, bufio.NewReader(c.out))
			c.kill()
			text, err := os.ReadFile(log)
			if err != nil || !strings.HasSuffix(string(text), name+"\n") {
				t.Fatalf("it died elsewhere: %s %v", text, err)
			}
			holderIs(t, p, 0)
			if _, err := store.SweepLocks(p, nil); err != nil {
				t.Error(err)
			}
			acquire(t, p, store.LockOptions{})
		})
	}
}
