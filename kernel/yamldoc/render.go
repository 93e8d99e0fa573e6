package yamldoc

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Member is one member of a map that is rendered in order.
type Member struct {
	Key   string
	Value any
}

// Render is a map as a YAML document that [Parse] reads as the same values. The values are made of what encoding/json
// makes, and of integers; maps within them are sorted by key. The keys are all different.
func Render(members []Member) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range members {
		value, err := renderNode(m.Value)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", m.Key, err)
		}
		root.Content = append(root.Content, textNode(m.Key), value)
	}
	return written(root)
}

// RenderValue is any one value as a YAML document, as [Render] does it.
func RenderValue(v any) ([]byte, error) {
	n, err := renderNode(v)
	if err != nil {
		return nil, fmt.Errorf("render YAML: %w", err)
	}
	return written(n)
}

func written(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("render YAML: %w", err)
	}
	return out.Bytes(), e.Close()
}

func renderNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case string:
		return textNode(v), nil
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n, err := renderNode(item)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, n)
		}
		return list, nil
	case map[string]any:
		m := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n, err := renderNode(v[key])
			if err != nil {
				return nil, err
			}
			m.Content = append(m.Content, textNode(key), n)
		}
		return m, nil
	default:
		n := new(yaml.Node)
		err := n.Encode(v)
		return n, err
	}
}

// textNode is a text in the form that people read best. The library quotes what would be read as something else, by
// older readers too, except a text that looks like a merge key; and blocks of text that begin with a space or hold a
// carriage return are not read as they were.
func textNode(s string) *yaml.Node {
	s = strings.ToValidUTF8(s, "\uFFFD")
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case s == "<<", strings.ContainsAny(s, "\r\t\u0085\u2028\u2029\ufeff"), strings.HasPrefix(s, " "), strings.HasPrefix(s, "\n"):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	default:
		if plain := new(yaml.Node); plain.Encode(s) == nil {
			return plain
		}
	}
	return n
}
