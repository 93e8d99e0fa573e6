package loop

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
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

// isRedacted reports whether a checkpoint changes a text.
func (l *loop) isRedacted(text string) bool { return l.Redactor.Text(text) != text }
