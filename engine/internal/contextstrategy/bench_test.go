package contextstrategy_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/tokens"
)

func BenchmarkFit(b *testing.B) {
	text := strings.Repeat("This is one line of what was asked for.\n", 200<<10/40)
	for name, model := range map[string]string{"estimated": "", "counted": "gpt-5"} {
		b.Run(name, func(b *testing.B) {
			count := tokens.For(model)
			for b.Loop() {
				contextstrategy.Fit([]contextstrategy.Section{{Kind: contextstrategy.File, Name: "file", Text: text}}, 30_000, count)
			}
		})
	}
}
