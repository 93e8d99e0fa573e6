package loop

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// save makes a checkpoint of the talk, without secrets; when it returns, it is on disk.
func (l *loop) save(ctx context.Context) error {
	saved := l.talk
	saved.Turns = make([]turn, len(l.talk.Turns))
	for i, t := range l.talk.Turns {
		for _, thought := range t.Reply.Thinking {
			if l.changes(thought.Text) || l.changes(thought.Signature) || l.changes(thought.Data) {
				t.Reply.Thinking = nil // the service would not take it any more
				break
			}
		}
		saved.Turns[i] = t
	}
	blob, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return l.Exchange.Checkpoint(ctx, sdk.Checkpoint{Turn: l.talk.Turn, Blob: l.Redactor.JSON(blob)})
}

// changes reports whether a text does not stay as it is in a checkpoint.
func (l *loop) changes(text string) bool { return l.Redactor.Text(text) != text }
