package cliagent

import (
	"strings"
	"testing"
	"time"
)

func TestDecodeEvent(t *testing.T) {
	type event struct {
		Text  string `json:"text"`
		Count int    `json:"count"`
	}
	for raw, want := range map[string]struct {
		event event
		ok    bool
	}{
		`{"text": "a", "count": 2}`:      {event{"a", 2}, true},
		`{"count": "two", "text": "a"}`:  {event{"a", 0}, true},
		`{"text": "a"`:                   {event{}, false},
		`{"text": "a", "new": {"b": 1}}`: {event{"a", 0}, true},
	} {
		var got event
		if ok := DecodeEvent([]byte(raw), &got); ok != want.ok || got != want.event {
			t.Errorf("DecodeEvent(%s) = %+v, %t, want %+v, %t", raw, got, ok, want.event, want.ok)
		}
	}
}

func TestAddCounts(t *testing.T) {
	two, three := new(int64(2)), new(int64(3))
	if got := AddCounts(two, three); *got != 5 {
		t.Errorf("2 + 3 = %d", *got)
	}
	if got := AddCounts(nil, nil); got != nil {
		t.Errorf("unknown + unknown = %d", *got)
	}
	if a, b := AddCounts(two, nil), AddCounts(nil, two); *a != 2 || *b != 2 {
		t.Errorf("2 + unknown = %d, unknown + 2 = %d", *a, *b)
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		" one \n two":            "one",
		"\n\n one":               "one",
		strings.Repeat("ä", 120): strings.Repeat("ä", 120),
		strings.Repeat("ä", 121): strings.Repeat("ä", 119) + "…",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEvidence(t *testing.T) {
	newEvents := func() *Events {
		return &Events{
			Begins: func(string) bool { return true }, Handle: func(string, []byte) bool { return false },
			Plain: &Transcript{},
		}
	}
	tests := []struct {
		name, line          string
		active, spoke, want bool
	}{
		{"no output", "\n", true, false, false},
		{"plain text", "done\n", false, false, true},
		{"events without work", `{"type":"start"}`, false, true, false},
		{"events with work", `{"type":"start"}`, true, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events := newEvents()
			events.Line([]byte(tt.line))
			e := End{ExitCode: 1, Stderr: "why"}.Evidence(events, tt.active, time.Unix(1, 0))
			if e.WroteEvents != tt.spoke || e.Acted != tt.want || e.Detail != "why" || e.Process.Failure == nil || !e.Now.Equal(time.Unix(1, 0)) {
				t.Errorf("evidence %+v", e)
			}
		})
	}
}
