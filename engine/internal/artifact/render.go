package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// large is from how many bytes of JSON on an artifact is kept as JSON, which is YAML too: reading that again is quick,
// and nobody reads so much of it by eye.
const large = 1 << 20

// many is from how many values on it is: YAML with that many is slow to read, and with [yamltree.MaxValues] not read at
// all.
const many = yamldoc.MaxValues / 4

// tally counts the values in v, and the keys of objects.
func tally(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += 1 + tally(inner)
		}
	case []any:
		for _, inner := range v {
			n += tally(inner)
		}
	}
	return n
}

// Render is the artifact as it is kept: the envelope around the data, whose members stand by their names.
func (a Artifact) Render() ([]byte, error) {
	members := []yamldoc.Member{{Key: metaKey, Value: tree(a.Meta)}}
	for _, key := range slices.Sorted(maps.Keys(a.Data)) {
		members = append(members, yamldoc.Member{Key: key, Value: a.Data[key]})
	}
	members = append(members, yamldoc.Member{Key: metadataKey, Value: tree(a.Metadata)})
	text, err := flow(members)
	if err != nil || len(text) > large || tally(a.Data) > many {
		return text, err
	}
	return yamldoc.Render(members)
}

// flow renders members as a JSON object, a line for each, that every reader of YAML takes.
func flow(members []yamldoc.Member) ([]byte, error) {
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
	return printable(b.Bytes()), nil
}

// printable escapes the characters of JSON's texts that YAML allows in none (YAML 1.2, 5.1).
func printable(text []byte) []byte {
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
