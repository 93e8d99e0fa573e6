package cliagent

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
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
			compare(t, tt.kinds, kinds)
			if got := e.Plain.String(); got != tt.plain || final != tt.final || e.Seen() != (len(tt.kinds) > 0) {
				t.Errorf("plain = %q, final = %t, seen = %t", got, final, e.Seen())
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	x := &record.Exchange{}
	tr := &Transcript{X: x}
	for _, text := range []string{"  first\n\n", "", " \n", "second\nline"} {
		tr.Paragraph(text)
	}
	tr.Add("raw")
	want := "first\n\nsecond\nline\nraw"
	compare(t, want, tr.String())
	compare(t, want, x.Record().Text(sdk.StreamText))
}

func TestTranscriptIsBounded(t *testing.T) {
	x := &record.Exchange{}
	tr := &Transcript{X: x}
	piece := strings.Repeat("x", 1<<20)
	for range 20 {
		tr.Add(piece)
	}
	if kept, shown := len(tr.String()), len(x.Record().Text(sdk.StreamText)); kept != TranscriptBytes || shown != 20<<20 {
		t.Errorf("kept %d, shown %d", kept, shown)
	}
}

// FuzzEventType checks that only a JSON object with a "type" has an event type.
func FuzzEventType(f *testing.F) {
	for _, seed := range []string{`{"type":"result"}`, ` {"type":"a","type":"b"} `, `{"type":3}`, `{"type":""}`, "[]", "", "{", "{\"type\":\"x\"}\v", `{"TYPE":"x"}`, `{"type":"a"}{"type":"b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, ok := eventType(line)
		var object map[string]json.RawMessage
		if ok && (kind == "" || json.Unmarshal(line, &object) != nil) || !ok && kind != "" {
			t.Errorf("%q is %q, %t", line, kind, ok)
		}
	})
}

// FuzzVersion checks that a found version is part of the line, has no space, and is itself a line
// with that version.
func FuzzVersion(f *testing.F) {
	for _, seed := range []string{"2.1.329 (Claude Code)", "codex-cli 0.169.0-alpha.1", "v1.2", "1", "", "1.2 3.4", "x1.2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		version := findVersion(line)
		if version == "" {
			return
		}
		if !strings.Contains(line, version) || len(strings.Fields(version)) != 1 || findVersion(version) != version {
			t.Errorf("%q has version %q", line, version)
		}
	})
}
