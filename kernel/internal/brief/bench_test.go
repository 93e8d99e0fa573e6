package brief_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/brief"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/tokens"
)

func BenchmarkFit(b *testing.B) {
	text := strings.Repeat("This is one line of what was asked for.\n", 200<<10/40)
	for name, model := range map[string]string{"estimated": "", "counted": "gpt-5"} {
		b.Run(name, func(b *testing.B) {
			count := tokens.For(model)
			for b.Loop() {
				brief.Fit([]brief.Section{{Kind: brief.File, Name: "file", Text: text}}, 30_000, count)
			}
		})
	}
}
