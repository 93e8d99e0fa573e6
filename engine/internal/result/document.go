package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// object is a JSON object. Its members are read one by one, so that a member of a wrong type does not affect others.
type object map[string]json.RawMessage

func parse(data []byte, name string) (object, error) {
	if len(data) > MaxBytes {
		return nil, invalid("agent wrote %s of %d bytes, the limit is %d", name, len(data), MaxBytes)
	}
	var m object
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(bytes.ToValidUTF8(data, []byte("\uFFFD")), &m)
	switch {
	case errors.As(err, &other):
		return nil, invalid("agent wrote invalid %s: it is of type %s, not an object", name, other.Value)
	case err != nil:
		return nil, invalid("agent wrote invalid %s: %w", name, err)
	case m == nil:
		return nil, invalid("agent wrote invalid %s: it is null, not an object", name)
	}
	return m, nil
}

func invalid(format string, args ...any) error {
	return failure.New(failure.ResultInvalid, format, args...).
		WithHint("docs/run-files.md shows the form of result.json; the agent's file was left as it is")
}

// member returns a member as a T. For null, a missing member or another type it returns the zero value and false.
func member[T any](m object, key string) (v T, ok bool) {
	if raw, found := m[key]; !found || string(raw) == "null" || json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero, false
	}
	return v, true
}

func text(m object, key string) string {
	s, _ := member[string](m, key)
	return s
}

// values reads a list; another type is an empty list.
func values(m object, key string) []json.RawMessage {
	list, _ := member[[]json.RawMessage](m, key)
	return append([]json.RawMessage{}, list...)
}

// stringList reads a list of strings; other elements are rendered as JSON.
func stringList(m object, key string) []string {
	list := values(m, key)
	out := make([]string, len(list))
	for i, raw := range list {
		if json.Unmarshal(raw, &out[i]) != nil || string(raw) == "null" {
			out[i] = string(rendered(raw))
		}
	}
	return out
}

func rendered(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // v is decoded JSON or a Result, which always encodes
		panic(fmt.Sprintf("render %v: %v", v, err))
	}
	return b
}

// These constants bound texts of claims, in bytes, and the length of their lists.
const (
	maxText  = 64 << 10 // message, feedback
	maxWord  = 256      // words, ids, one question
	maxItems = 500
)

// short returns the beginning of a text, at most limit bytes of it.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

func shortList(m object, key string) []string {
	list := stringList(m, key)
	list = list[:min(len(list), maxItems)]
	for i := range list {
		list[i] = short(list[i], maxWord)
	}
	return list
}

// MaxBytes bounds a result or status file, in bytes; a typical result has a few kilobytes.
const MaxBytes = 10 << 20
