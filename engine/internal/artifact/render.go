package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// minJSONBytes is the size in bytes above which an artifact is stored as JSON, which is valid YAML: it is faster to
// read, and users do not read that much.
const minJSONBytes = 1 << 20

// minJSONValues is the same limit in values: YAML with more is slow to read, and unreadable above
// [yamldoc.MaxValues].
const minJSONValues = yamldoc.MaxValues / 4

// countValues counts the values in v and the keys of objects.
func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += 1 + countValues(inner)
		}
	case []any:
		for _, inner := range v {
			n += countValues(inner)
		}
	}
	return n
}

// Render returns the stored form: the envelope around the data, with its members sorted by name.
func (a Artifact) Render() ([]byte, error) {
	members := []yamlwrite.Member{{Key: metaKey, Value: toPlain(a.Meta)}}
	for _, key := range slices.Sorted(maps.Keys(a.Data)) {
		members = append(members, yamlwrite.Member{Key: key, Value: a.Data[key]})
	}
	members = append(members, yamlwrite.Member{Key: metadataKey, Value: toPlain(a.Metadata)})
	text, err := renderJSON(members)
	if err != nil || len(text) > minJSONBytes || countValues(a.Data) > minJSONValues {
		return text, err
	}
	return yamlwrite.Render(members)
}

// renderJSON renders members as a JSON object, one per line, which is also valid YAML.
func renderJSON(members []yamlwrite.Member) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range members {
		b.WriteString([]string{"\n", ",\n"}[min(i, 1)])
		for _, part := range []any{m.Key, m.Value} {
			if err := e.Encode(part); err != nil {
				return nil, fmt.Errorf("render %s: %w", m.Key, err)
			}
			b.Truncate(b.Len() - len("\n"))
			b.WriteString(": ")
		}
		b.Truncate(b.Len() - len(": "))
	}
	b.WriteString("\n}\n")
	return escapeUnprintable(b.Bytes()), nil
}

// escapeUnprintable escapes the characters in JSON strings that YAML forbids (YAML 1.2, 5.1).
func escapeUnprintable(text []byte) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			out = fmt.Appendf(append(out, text[kept:i]...), `\u%04x`, r)
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}
