package loop

import (
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// resume goes on from the checkpoint of an attempt that was cut off. What the kernel knows of its calls counts, whatever
// the checkpoint says: a call with a result is not made again, one without is asked for again under the same id.
func (l *loop) resume() error {
	r := l.Request.Resume
	if r == nil || len(r.Checkpoint.Blob) == 0 {
		return nil
	}
	saved := fresh()
	if err := json.Unmarshal(r.Checkpoint.Blob, &saved); err != nil || saved.Version != talkVersion {
		return failure.New(failure.ProviderFailed, "the checkpoint of turn %d is none that this version can go on from", r.Checkpoint.Turn).
			WithHint("the attempt is made anew when it is retried")
	}
	for i := range saved.Turns {
		if t := &saved.Turns[i]; len(t.Made) != len(t.Reply.Calls) {
			return failure.New(failure.ProviderFailed, "the checkpoint of turn %d is damaged", r.Checkpoint.Turn)
		}
	}
	l.talk = saved
	l.talk.Window = max(1, l.talk.Window)
	for _, call := range r.Calls {
		l.known[call.Call.CallID] = call
	}
	return nil
}

// resumed reports whether the turn comes from a checkpoint.
func (l *loop) resumed(t *turn) bool {
	r := l.Request.Resume
	return r != nil && len(r.Checkpoint.Blob) > 0 && t.N <= r.Checkpoint.Turn
}
