package session

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// An inbox that cannot be read is logged once, and its messages arrive as soon as it can be read again.
func TestUnreadableInbox(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	_, dir := testkit.Session(t, t.TempDir(), "s")
	var log bytes.Buffer
	s := &session{handle: &handle{dir: dir, log: hclog.New(&hclog.LoggerOptions{Output: &log})}}
	received := 0
	poll := (&control{session: s}).watchInbox(func(event.Event) bool { received++; return true })
	for round := 1; round <= 2; round++ {
		testkit.OK(t, dir.Replace(store.InboxDir, []byte("a file in the place of the directory")))
		poll()
		poll()
		testkit.OK(t, os.Remove(dir.Abs(store.InboxDir)))
		testkit.Must(inbox.Post(dir, inboxRun(s.state), inbox.Message{Action: inbox.Pause}))
		poll()
		if logged := strings.Count(log.String(), "cannot read"); logged != round || received != round {
			t.Errorf("round %d: logged %d times, received %d messages", round, logged, received)
		}
		testkit.OK(t, os.RemoveAll(dir.Abs(store.InboxDir)))
	}
}
