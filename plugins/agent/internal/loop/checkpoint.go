package loop

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// save makes a checkpoint of the conversation without secrets. When it returns, the checkpoint is on disk.
func (l *loop) save(ctx context.Context) error {
	saved := l.conversation
	saved.Turns = make([]turn, len(l.conversation.Turns))
	for i, t := range l.conversation.Turns {
		for _, thought := range t.Reply.Thinking {
			if l.isRedacted(thought.Text) || l.isRedacted(thought.Signature) || l.isRedacted(thought.Data) {
				t.Reply.Thinking = nil // the service rejects changed blocks
				break
			}
		}
		saved.Turns[i] = t
	}
	blob, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return l.Exchange.Checkpoint(ctx, sdk.Checkpoint{Turn: l.conversation.Turn, Blob: l.Redactor.JSON(blob)})
}

// isRedacted reports whether the redaction of a checkpoint changes a text.
func (l *loop) isRedacted(text string) bool { return l.Redactor.Text(text) != text }

// resume continues from the checkpoint of an interrupted attempt. The kernel's records of calls override the
// checkpoint: a call with a result is not repeated, a call without a result is requested again under the same id.
func (l *loop) resume() error {
	r := l.Request.Resume
	if r == nil || len(r.Checkpoint.Blob) == 0 {
		return nil
	}
	saved := newConversation()
	if err := json.Unmarshal(r.Checkpoint.Blob, &saved); err != nil || saved.Version != conversationVersion {
		return failure.New(failure.ProviderFailed, "the checkpoint of turn %d cannot be used by this version", r.Checkpoint.Turn).
			WithHint("retry the attempt; it starts from the beginning")
	}
	for i := range saved.Turns {
		if t := &saved.Turns[i]; len(t.Results) != len(t.Reply.Calls) {
			return failure.New(failure.ProviderFailed, "the checkpoint of turn %d is damaged", r.Checkpoint.Turn)
		}
	}
	l.conversation = saved
	l.conversation.Window = max(1, l.conversation.Window)
	for _, call := range r.Calls {
		l.resumedCalls[call.Call.CallID] = call
	}
	return nil
}
