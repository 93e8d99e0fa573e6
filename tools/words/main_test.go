package main

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/tools/wordlist"
)

func TestReport(t *testing.T) {
	hits := below([]wordlist.Hit{
		{Path: "a/x.go", Line: 1, Text: "heed", Instead: "follow"},
		{Path: "a/y.go", Line: 2, Text: "heed", Instead: "follow"},
		{Path: "ab/z.go", Line: 3, Text: "heed", Instead: "follow"},
	}, []string{"./a/"})
	var text, sums strings.Builder
	report(&text, hits, false)
	report(&sums, hits, true)
	if want := "a/x.go:1: heed: follow\na/y.go:2: heed: follow\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
	if want := "     2 a\n     2 in all\n"; sums.String() != want {
		t.Errorf("got %q, want %q", sums.String(), want)
	}
}
