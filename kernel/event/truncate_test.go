package event_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

func TestBrief(t *testing.T) {
	tests := []struct {
		name, text        string
		limit             int
		beginning, theEnd string
	}{
		{"short", "abc", 10, "abc", "abc"},
		{"just fits", "abcdefghij", 10, "abcdefghij", "abcdefghij"},
		{"too long", "abcdefghijk", 10, "abcdefg…", "…efghijk"},
		{"escaped", "<<<<", 15, "<<…", "…<<"},
		{"between characters", "ééééééé", 10, "ééé…", "…ééé"},
		{"no text", "\xff\xff\xffabc", 10, "…", "…abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{event.Truncate(tt.text, tt.limit), event.TruncateFront(tt.text, tt.limit)}
			if diff := cmp.Diff([]string{tt.beginning, tt.theEnd}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The truncated text always fits into its part of a line.
func TestTruncateFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))+rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "times"))
		limit := rapid.IntRange(10, 400).Draw(t, "limit")
		for _, got := range []string{event.Truncate(text, limit), event.TruncateFront(text, limit)} {
			line, err := json.Marshal(got)
			if err != nil || len(line)-2 > limit {
				t.Fatalf("%d bytes of %q, %v", len(line)-2, got, err)
			}
			if got != text && !utf8.ValidString(got) {
				t.Fatalf("%q is no text", got)
			}
		}
	})
}

// Each constant of type.go is known, so that a new type cannot be forgotten.
func TestKnownTypes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "type.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for n := range ast.Preorder(file) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		name, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if !event.Type(name).Known() {
			t.Errorf("%s is not known", name)
		}
	}
	if found < 50 {
		t.Errorf("found only %d types in type.go", found)
	}
	if event.Type("later_invention").Known() {
		t.Error("an unknown type is known")
	}
}

// Unreported counts are omitted, not 0.
func TestTokens(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	u := event.Usage{InputTokens: count(5), CacheReadTokens: count(0), ReasoningTokens: count(7)}
	var got []string
	for kind, n := range u.Tokens() {
		got = append(got, fmt.Sprint(kind, " ", n))
	}
	if diff := cmp.Diff([]string{"input 5", "cache_read 0", "reasoning 7"}, got); diff != "" {
		t.Error(diff)
	}
	for kind := range u.Tokens() {
		if kind != "input" {
			t.Errorf("%s after the end", kind)
		}
		break
	}
}

// keyPattern is the form of a key.
var keyPattern = regexp.MustCompile(`^([a-z]+):([0-9.]*)/v(\d{1,9})/r(\d{1,9})/([^/]+)/([^/]+)/i(\d{1,9})#(\d{1,9})$`)

// FuzzKey parses any key: an accepted key matches keyPattern and is rebuilt from its parts.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "attempt:0/v1/r1/-/-/i1#1", "heal:2.0/v12/r3/claude/step-4/i999999999#0", "timer:/v0/r0/-/-/i0#0", "x:0/v01/r1/-/-/i1#1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, loc, n, ok := event.Key(text).Parse()
		if ok != keyPattern.MatchString(text) {
			t.Fatalf("%q is a key: %t", text, ok)
		}
		if !ok {
			return
		}
		if got := event.Key(text).Kind(); got != kind {
			t.Errorf("the kind of %q is %q alone, %q with the rest", text, got, kind)
		}
		key := loc.Key(kind, n)
		againKind, again, m, ok := key.Parse()
		if !ok || againKind != kind || m != n {
			t.Fatalf("%q became %q, which is %q, %d, %t", text, key, againKind, m, ok)
		}
		if diff := cmp.Diff(loc, again); diff != "" {
			t.Errorf("%q became %q (-first +second):\n%s", text, key, diff)
		}
	})
}
