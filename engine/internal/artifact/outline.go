package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// MaxInline is the largest artifact that a prompt contains, in bytes of its file. A larger one is shown as an
// [Outline].
const MaxInline = 64 << 10

// Bounds of an outline.
const (
	maxFields = 50
	maxField  = 100 // of a name, in bytes
)

// Outline describes an artifact without its data: path, size, digest, and the kinds and sizes of its fields.
func Outline(d *store.Dir, ref event.Ref, data map[string]any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "It is too large to be shown here. Read what you need of it.\npath: %s\nsize: %d bytes\nsha256: %s\nfields:\n", d.Abs(ref.Path), ref.Size, ref.SHA256)
	sizes := map[string]int{}
	for name, v := range data {
		raw, err := json.Marshal(v)
		if err != nil { // it was read from YAML or JSON
			panic(fmt.Sprintf("render a field: %v", err))
		}
		sizes[name] = len(raw)
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		if i == maxFields {
			fmt.Fprintf(&b, "- and %d smaller ones\n", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s, %d bytes\n", event.Truncate(name, maxField), valueSummary(data[name]), sizes[name])
	}
	return b.String()
}

// valueSummary returns the kind and the length of a value.
func valueSummary(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d fields", len(v))
	default:
		return kindName(v)
	}
}
