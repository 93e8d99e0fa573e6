package event_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// What nobody said is not there, and not 0.
func TestTokens(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	u := event.Usage{InputTokens: count(5), CacheReadTokens: count(0), ReasoningTokens: count(7)}
	var told []string
	for kind, n := range u.Tokens() {
		told = append(told, fmt.Sprint(kind, " ", n))
	}
	if diff := cmp.Diff([]string{"input 5", "cache_read 0", "reasoning 7"}, told); diff != "" {
		t.Error(diff)
	}
	for kind := range u.Tokens() {
		if kind != "input" {
			t.Errorf("%s after the end", kind)
		}
		break
	}
}
