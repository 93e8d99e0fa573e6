package recovery_test

import (
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
)

// FuzzPoint parses points: one that parses is equal to its canonical form.
func FuzzPoint(f *testing.F) {
	for _, seed := range []string{"", "plan", "2.0", "build:3", ":1", "a:0", "a:-1", "a:b:1", "a:", "a:99999999999999999999", "a:+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := recovery.ParsePoint(text)
		if err != nil {
			return
		}
		plain := p.Node
		if p.Iteration > 0 {
			plain = fmt.Sprintf("%s:%d", p.Node, p.Iteration)
		}
		if again, err := recovery.ParsePoint(plain); err != nil || again != p || p.Node == "" || p.Iteration < 0 {
			t.Errorf("%q is %+v, written %q and then %+v, %v", text, p, plain, again, err)
		}
	})
}
