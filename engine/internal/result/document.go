package result

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func object(data []byte, name string) (map[string]any, error) {
	if len(data) > MaxBytes {
		return nil, invalid("agent wrote %s of %d bytes, the limit is %d", name, len(data), MaxBytes)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, invalid("agent wrote invalid %s: %w", name, err)
	}
	if m == nil {
		return nil, invalid("agent wrote invalid %s: it is null, not an object", name)
	}
	return m, nil
}

func invalid(format string, args ...any) error {
	return failure.New(failure.ResultInvalid, format, args...).
		WithHint("docs/run-files.md shows the form of result.json; the agent's file was left as it is")
}

func member(m map[string]any, key string) map[string]any {
	v, _ := m[key].(map[string]any)
	return v
}

func text(m map[string]any, key, def string) string {
	if s, ok := m[key].(string); ok {
		return s
	}
	return def
}

// strs reads a list of strings; other elements are rendered as JSON, another type is an empty list.
func strs(m map[string]any, key string) []string {
	list, _ := m[key].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		out = append(out, strings.TrimSpace(string(rendered(v))))
	}
	return out
}

func values(m map[string]any, key string) []json.RawMessage {
	list, _ := m[key].([]any)
	out := make([]json.RawMessage, 0, len(list))
	for _, v := range list {
		out = append(out, rendered(v))
	}
	return out
}

func rendered(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // v came out of json.Unmarshal
		panic(fmt.Sprintf("render %v: %v", v, err))
	}
	return b
}

// The longest claims, in bytes, and the longest lists of them.
const (
	maxText  = 64 << 10 // message, feedback
	maxWord  = 256      // words, ids, one question
	maxItems = 500
)

// short is the beginning of a text, at most limit bytes of it.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

func shortList(m map[string]any, key string) []string {
	list := strs(m, key)
	list = list[:min(len(list), maxItems)]
	for i := range list {
		list[i] = short(list[i], maxWord)
	}
	return list
}

// MaxBytes bounds the files that are read; an agent's result is a few kilobytes.
const MaxBytes = 10 << 20
