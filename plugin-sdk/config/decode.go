package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Decode reads the JSON object raw into the struct that into points to. An empty or null
// configuration counts as {}. Keys are json tags, or else field names, and case-sensitive. Map and interface
// fields accept any members. Types with an UnmarshalJSON decode themselves.
//
// Every error is a [failure.Error] of kind config_invalid. It states that raw is not a JSON object, or lists all
// unknown keys, or names the first value of a wrong type.
func Decode(raw json.RawMessage, into any) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return failure.New(failure.ConfigInvalid, "config is not valid JSON: %w", err)
	}
	if _, ok := tree.(map[string]any); !ok {
		return failure.New(failure.ConfigInvalid, "config must be an object, not %s", jsonType(tree))
	}
	if problems := unknownKeys(tree, into); len(problems) > 0 {
		return failure.New(failure.ConfigInvalid, "config: %s", strings.Join(problems, "; "))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return wrongValue(err, reflect.TypeOf(into))
	}
	return nil
}

// wrongValue rewrites a decoding error for the author of the configuration. Errors of a nested
// Decode are returned unchanged.
func wrongValue(err error, root reflect.Type) error {
	var known *failure.Error
	if errors.As(err, &known) {
		return known
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return failure.New(failure.ConfigInvalid, "config: %s does not fit: got %s, want %s", place(mismatch.Field, root), mismatch.Value, wantedType(mismatch.Type))
	}
	return failure.New(failure.ConfigInvalid, "config: %w", err)
}

// place returns the path of a field as the author of the configuration wrote it. It removes the
// names of embedded Go structs, which are not keys.
func place(path string, t reflect.Type) string {
	var keys []string
	for _, name := range strings.Split(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			keys = append(keys, name)
		} else if field, ok := fields(t)[name]; ok {
			keys, t = append(keys, name), field
		}
	}
	return fmt.Sprintf("%q", strings.Join(keys, "."))
}

// wantedType returns the JSON type that is decoded into a Go type.
func wantedType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a whole number"
	}
}

func jsonType(v any) string {
	switch v.(type) {
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	default:
		return "null"
	}
}
