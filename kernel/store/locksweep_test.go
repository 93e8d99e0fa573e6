package store_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func TestSweep(t *testing.T) {
	p := project(t)
	if swept, err := store.SweepLocks(p, nil); err != nil || swept != nil {
		t.Fatalf("a fresh project: %v, %v", swept, err)
	}
	held, live := newChild(t, p).hold(), newChild(t, p)
	putLock(t, p, "dead", `{"session":"other name","pid":999999999,"started_at":"2026-01-01T00:00:00Z"}`)
	putLock(t, p, "again", fmt.Sprintf(`{"session":"again","pid":%d,"start_time":"x/1"}`, live.pid()))
	putLock(t, p, "alive", fmt.Sprintf(`{"session":"alive","pid":%d}`, live.pid()))
	putLock(t, p, "broken", "not json")
	putLock(t, p, "empty", "")
	putLock(t, p, "no session", `{"pid":999999999}`)
	putLock(t, p, "resumed now", `{"pid":999999999}`)

	swept := must(store.SweepLocks(p, func(session string) bool { return session == "resumed now" }))
	want := []store.StaleLock{{Session: "again", PID: live.pid()}, {Session: "dead", PID: noPID}}
	compare(t, want, swept)
	left := []string{"alive.lock", "broken.lock", "empty.lock", "no session.lock", "resumed now.lock", "s.lock"}
	compare(t, left, locks(t, p))
	held.end()
}

func TestHolderOfNothing(t *testing.T) {
	p := project(t)
	putLock(t, p, "broken", "not json")
	putLock(t, p, "dead", `{"pid":999999999}`)
	before := locks(t, p)
	for _, session := range []string{"absent", "broken", "dead"} {
		if info, held, err := store.LockHolder(p, session); err != nil || held || info != (store.LockInfo{}) {
			t.Errorf("%s: %+v, %t, %v", session, info, held, err)
		}
	}
	compare(t, before, locks(t, p))
}

// A user with read access to the project can ask for the holder of a session.
func TestHolderReadsOnly(t *testing.T) {
	p := project(t)
	putLock(t, p, "s", `{"pid":999999999}`)
	c := newChild(t, p)
	putLock(t, p, "live", fmt.Sprintf(`{"pid":%d}`, c.pid()))
	for _, name := range locks(t, p) {
		check(t, os.Chmod(p.Abs(".claude/locks/"+name), 0o444))
	}
	holderIs(t, p, 0)
	if info, held, err := store.LockHolder(p, "live"); err != nil || !held || info.PID != c.pid() {
		t.Errorf("got %+v, %t, %v", info, held, err)
	}
}
