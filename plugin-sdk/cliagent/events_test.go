package cliagent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestEvents(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		kinds []string
		plain string
		final bool
	}{
		{"events", []string{"{\"type\":\"begin\"}\n", "{\"type\":\"new\"}\n", "{\"type\":\"end\"}\n"}, []string{"begin", "new", "end"}, "", true},
		{"plain text", []string{"hello\n", "world"}, nil, "hello\nworld", false},
		{"an answer that is JSON", []string{"{\"stop\":true}\n", "{\"type\":\"new\"}\n"}, nil, "{\"stop\":true}\n{\"type\":\"new\"}\n", false},
		{"noise between events", []string{"warning\n", "{\"type\":\"begin\"}\n", "noise\n", "{\"typ\n", "[1]\n", "{\"type\":\"end\"}\n"}, []string{"begin", "end"}, "warning\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var kinds []string
			e := &Events{
				Begins: func(kind string) bool { return kind == "begin" },
				Handle: func(kind string, _ []byte) bool {
					kinds = append(kinds, kind)
					return kind == "end"
				},
				Plain: &Transcript{},
			}
			final := false
			for _, line := range tt.lines {
				final = e.Line([]byte(line)) || final
			}
			if diff := cmp.Diff(tt.kinds, kinds); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := e.Plain.String(); got != tt.plain || final != tt.final || e.Seen() != (len(tt.kinds) > 0) {
				t.Errorf("plain = %q, final = %t, seen = %t", got, final, e.Seen())
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	x := &streams{}
	tr := &Transcript{X: x}
	for _, text := range []string{"  first\n\n", "", " \n", "second\nline"} {
		tr.Paragraph(text)
	}
	tr.Add("raw")
	want := "first\n\nsecond\nline\nraw"
	if diff := cmp.Diff(want, tr.String()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, x.of(sdk.StreamText)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestTranscriptIsBounded(t *testing.T) {
	x := &streams{}
	tr := &Transcript{X: x}
	piece := strings.Repeat("x", 1<<20)
	for range 20 {
		tr.Add(piece)
	}
	if kept, shown := len(tr.String()), len(x.of(sdk.StreamText)); kept != TranscriptBytes || shown != 20<<20 {
		t.Errorf("kept %d, shown %d", kept, shown)
	}
}
