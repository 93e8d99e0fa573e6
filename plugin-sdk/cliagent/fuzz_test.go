package cliagent

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzEventType reads any line as an event of an agent: it has a type only if it is a JSON object that says one.
func FuzzEventType(f *testing.F) {
	for _, seed := range []string{`{"type":"result"}`, ` {"type":"a","type":"b"} `, `{"type":3}`, `{"type":""}`, "[]", "", "{", `{"TYPE":"x"}`, `{"type":"a"}{"type":"b"}`} {
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

// FuzzVersion finds the version in any line: it is part of the line, has no space in it and is found again alone.
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
