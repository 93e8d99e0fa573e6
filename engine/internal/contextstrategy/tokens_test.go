package contextstrategy_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
)

// The counts of o200k_base are those of OpenAI's own tokenizer (tiktoken).
func TestTokenCount(t *testing.T) {
	for _, tt := range []struct {
		model, text string
		want        int
	}{
		{"", "", 0},
		{"", "a", 1},
		{"opus", "abcd", 1},
		{"opus", "abcde", 2},
		{"claude-sonnet-5-5", "hello world", 3},
		{"my-model", "äöüß", 1}, // characters, not bytes
		{"gpt-2", "hello world", 3},
		{"o11", "hello world", 3},
		{"gpt-5-codex", "", 0},
		{"gpt-5-codex", "hello world", 2},
		{"gpt-4o-mini", "hello world", 2},
		{"gpt-4.1", "tiktoken is great!", 6},
		{"o3", "hello world", 2},
		{"o4-mini", "hello world", 2},
		{"codex-mini-latest", "お誕生日おめでとう", 8},
		{"gpt-5", "2 + 2 = 4", 7},
		{"gpt-5", "<|endoftext|>", 7}, // a text, not a control token
	} {
		if got := contextstrategy.NewTokenCounter(tt.model)(tt.text); got != tt.want {
			t.Errorf("%q has %d tokens for %q, want %d", tt.text, got, tt.model, tt.want)
		}
	}
}

func TestTokenCountersAreConcurrent(t *testing.T) {
	text := strings.Repeat("func main() { fmt.Println(\"hello\") }\n", 200)
	want := contextstrategy.NewTokenCounter("gpt-5")(text)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := contextstrategy.NewTokenCounter("gpt-5")(text); got != want {
				t.Errorf("%d tokens, want %d", got, want)
			}
		})
	}
	all.Wait()
}

func FuzzTokenCount(f *testing.F) {
	f.Add("hello\nworld", " more")
	f.Add("\xff\xfe", "\r\n\t")
	f.Add("", "\x7f\x7f")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, model := range []string{"", "gpt-5"} {
			count := contextstrategy.NewTokenCounter(model)
			n := count(a)
			if n < 0 || n > len(a) {
				t.Errorf("%d tokens in %d bytes", n, len(a))
			}
			if again := count(a); again != n {
				t.Errorf("%d tokens, then %d", n, again)
			}
			if b != "" && count(a+b) == 0 {
				t.Error("a text without tokens")
			}
		}
	})
}
