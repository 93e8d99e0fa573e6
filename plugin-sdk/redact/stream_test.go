package redact_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

var environ = []string{"DB_PASSWORD=correct horse!", "DEPLOY_TOKEN=xyzzy-plugh", "A_SECRET=plughxyz", "B_SECRET=[fo$o]bar"}

// fragments are the parts of the texts in property tests: secrets, parts of them, similar texts,
// and separators.
var fragments = []string{
	"correct horse!", "correct ", "horse!", "xyzzy-plugh", "xyzzy-", "plughxyz", "[fo$o]bar", "[fo$", "ghp_" + digits, "ghp_0123", "AKIAIOSFODNN7EXAMPLE", "AKIA",
	"sk-" + digits, "sk-", "di", "eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.", "dozjgNryP4J3", pem, pem[:40], pem[40:90], "-----BEGIN RSA ", "-----BEGIN PUBLIC KEY-----",
	"${DEPLOY_TOKEN}", "${", "$", "}", "[REDACTED]", "[REDA", "CTED]", " ", "\n", ", ", "\"", "ü", "。", "…", "password: hunter2", "\n\n", "word", "Bearer abcdefghijk", "\xc3",
}

func pieces(s *redact.Stream, text string, next func(left int) int) string {
	var b strings.Builder
	for text != "" {
		n := min(max(next(len(text)), 1), len(text))
		b.WriteString(s.Add(text[:n]))
		text = text[n:]
	}
	b.WriteString(s.End())
	return b.String()
}

// U180, C5: the result does not depend on the pieces. For an agent's text it equals the result for the
// whole text.
func TestStreamOfAnySplit(t *testing.T) {
	strong := redact.New(environ)
	weak := strong.ForAgent()
	patterned := weak.WithPatterns([]*regexp.Regexp{regexp.MustCompile(`word\s+word`)})
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var b strings.Builder
		for range rnd.IntN(12) {
			b.WriteString(fragments[rnd.IntN(len(fragments))])
		}
		text := b.String()
		random := func(left int) int { return rnd.IntN(min(left, 30)) + 1 }
		one := func(int) int { return 1 }
		all := func(left int) int { return left }
		for name, r := range map[string]*redact.Redactor{"own": strong, "agent": weak, "patterns": patterned} {
			want := pieces(r.Stream(), text, all)
			for _, cut := range []func(int) int{random, one} {
				if got := pieces(r.Stream(), text, cut); got != want {
					t.Fatalf("%s: %q\nin pieces %q\nat once   %q", name, text, got, want)
				}
			}
			if name == "agent" && headless(text) == 0 && want != r.Text(text) {
				t.Fatalf("%q\nstream %q\nwhole  %q", text, want, r.Text(text))
			}
		}
	}
}

// headless counts the ends of keys without a beginning, which a stream cannot recognize.
func headless(text string) int {
	return strings.Count(regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY-----.*?-----END [A-Z0-9 ]{0,64}PRIVATE KEY-----`).ReplaceAllString(text, ""), "-----END ")
}

// FuzzStream searches for a text and a split of it that let a secret through or change the result.
func FuzzStream(f *testing.F) {
	f.Add("say xyzzy-plugh and correct horse! "+pem, uint8(3))
	f.Add("sk-"+digits+" [REDACTED]${A}xyzzy-", uint8(1))
	f.Add("-----BEGIN K"+strings.Repeat("X", 70)+" PRIVATE KEY-----", uint8(9))
	f.Add("-----BEGIN "+strings.Repeat("X", 63)+" PRIVATE KEY-----", uint8(1))
	weak := redact.New(environ).ForAgent()
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		if len(text) > 30_000 {
			return
		}
		got := pieces(weak.Stream(), text, func(int) int { return int(size) })
		if want := pieces(weak.Stream(), text, func(left int) int { return left }); got != want {
			t.Errorf("%q\nin pieces %q\nat once   %q", text, got, want)
		}
		if headless(text) == 0 && got != weak.Text(text) {
			t.Errorf("%q\nstream %q\nwhole  %q", text, got, weak.Text(text))
		}
	})
}

// The stream holds back only the last word and possible beginnings of secrets.
func TestStreamHoldsBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []string // the result of each Add, then of End
	}{
		{"words", []string{"one tw", "o three"}, []string{"one ", "two ", "three"}},
		{"a key", []string{"push ghp_01234567890123456789", digits + " failed"}, []string{"push ", "[REDACTED] ", "failed"}},
		{"a value with a space", []string{"it is correct ", "horse! yes"}, []string{"it is ", "[REDACTED] ", "yes"}},
		{"half a value", []string{"it is correct ", "or not "}, []string{"it is ", "correct or not ", ""}},
		{"a private key", []string{"see " + pem[:30], pem[30:], " end\n"}, []string{"see ", "", "[REDACTED] end\n", ""}},
		{"a reference", []string{"use ${DEPLOY", "_TOKEN} now "}, []string{"use ", "${DEPLOY_TOKEN} now ", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := redact.New(environ).ForAgent().Stream()
			for i, p := range tt.pieces {
				if got := s.Add(p); got != tt.want[i] {
					t.Errorf("piece %d: got %q, want %q", i, got, tt.want[i])
				}
			}
			if got := s.End(); got != tt.want[len(tt.pieces)] {
				t.Errorf("end: got %q, want %q", got, tt.want[len(tt.pieces)])
			}
		})
	}
}

// A very long word is not held until the end, and secrets in it are found.
func TestStreamIsBounded(t *testing.T) {
	const window = 64 << 10
	r := redact.New(environ).ForAgent()
	s := r.Stream()
	blob := strings.Repeat("QUJD", 100_000)
	out := 0
	for i := 0; i < len(blob); i += 1000 {
		out += len(s.Add(blob[i : i+1000]))
		if held := i + 1000 - out; held > window {
			t.Fatalf("%d bytes are held", held)
		}
	}
	for at := window/2 - 60; at <= window/2+10; at++ { // a secret at the place of the split
		text := blob[:at] + ".xyzzy-plugh." + blob[:window]
		if got := pieces(r.Stream(), text, func(int) int { return 4096 }); got != r.Text(text) {
			t.Fatalf("at %d: the secret is not found", at)
		}
	}
	text := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkq\n", 20_000) + "-----END PRIVATE KEY-----\nafter"
	for _, size := range []int{100, 1 << 20} {
		if got := pieces(r.Stream(), text, func(int) int { return size }); got != "[REDACTED]\nafter" {
			t.Errorf("a key longer than the pending text: %d bytes, %.100q", len(got), got)
		}
	}
}

// BenchmarkStream redacts an agent's text in small pieces, as a model writes them.
func BenchmarkStream(b *testing.B) {
	r := redact.New([]string{"A_TOKEN=0123456789abcdef", "B_SECRET=fedcba9876543210"}).ForAgent()
	text := strings.Repeat("compiled package number of many, all is well; ", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := r.Stream()
		for i := 0; i < len(text); i += 20 {
			s.Add(text[i:min(i+20, len(text))])
		}
		s.End()
	}
}
