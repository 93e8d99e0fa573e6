package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U235, U278: gaps of a slow reader are reported at once, with the next update, and at the end.
func TestGaps(t *testing.T) {
	tests := []struct {
		name   string
		buffer int
		script string // a-z: send an update; <: read one
		want   string // updates read, then those left at the close; -n: n missed before
	}{
		{"nothing is missed", 2, "ab<<c", "a b | c"},
		{"a gap is reported at once", 2, "abc<<<", "a b -1 |"},
		{"later drops are reported with the next update", 2, "abcdef<<<<g", "a b -1 | -3g"},
		{"a reader behind its gap has its whole buffer", 2, "abc<d<<e", "a b -1 | d e"},
		{"a reader that stays behind gets updates", 2, "abc<d<e<f<g<", "a b -1 d e | -1 g"},
		{"a gap after a gap", 1, "ab<<cd<<e", "a -1 c -1 | e"},
		{"the last drops are reported at the end", 2, "abcde", "| a b -1 -2"},
		{"a gap at the end alone", 1, "abc<<", "a -1 | -1"},
		{"no buffer is a buffer of one", 0, "ab<<c", "a -1 | c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &Engine{}
			sub := e.Subscribe(tt.buffer)
			var got []string
			missed := 0
			take := func(u inspect.Update) {
				missed += u.Missed
				text := u.Dir
				if u.Missed > 0 {
					text = fmt.Sprint(-u.Missed, text)
				}
				got = append(got, text)
			}
			for _, c := range tt.script {
				if c != '<' {
					e.subscribers.send(inspect.Update{Dir: string(c)})
					continue
				}
				select {
				case u := <-sub.Updates:
					take(u)
				default: // no update is available
				}
			}
			got = append(got, "|")
			sub.Close()
			sub.Close() // may be called twice
			for u := range sub.Updates {
				take(u)
			}
			testkit.Equal(t, tt.want, strings.Join(got, " "))
			if int64(missed) != sub.Dropped() {
				t.Errorf("%d missed by the updates, %d dropped", missed, sub.Dropped())
			}
		})
	}
}

// A subscription to one session gets only that session's updates.
func TestSubscribeSession(t *testing.T) {
	e := &Engine{}
	one, all := e.SubscribeSession("one", 9), e.Subscribe(9)
	for _, session := range []string{"one", "two", "one"} {
		e.subscribers.send(inspect.Update{Session: session})
	}
	e.subscribers.closeAll()
	count := func(s *Subscription) (sessions []string) {
		for u := range s.Updates {
			sessions = append(sessions, u.Session)
		}
		return sessions
	}
	if got := count(one); !cmp.Equal(got, []string{"one", "one"}) {
		t.Errorf("updates of one session: %q", got)
	}
	if got := count(all); !cmp.Equal(got, []string{"one", "two", "one"}) {
		t.Errorf("updates of all: %q", got)
	}
	late := e.Subscribe(1)
	if _, open := <-late.Updates; open {
		t.Error("a subscription of a closed engine is open")
	}
	for _, s := range []*Subscription{one, late} { // may be called twice after the engine was closed
		s.Close()
		s.Close()
	}
}
