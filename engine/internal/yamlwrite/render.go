package yamlwrite

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Member is one member of an ordered map.
type Member struct {
	Key   string
	Value any
}

// Render returns a map as a YAML document that package yamldoc reads as the same values. Values are those of
// encoding/json, and integers; nested maps are sorted by key. The keys must differ.
func Render(members []Member) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range members {
		value, err := renderNode(m.Value)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", m.Key, err)
		}
		root.Content = append(root.Content, textNode(m.Key), value)
	}
	return encode(root)
}

// RenderValue returns one value as a YAML document, as [Render] does.
func RenderValue(v any) ([]byte, error) {
	n, err := renderNode(v)
	if err != nil {
		return nil, fmt.Errorf("render YAML: %w", err)
	}
	return encode(n)
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

// textNode returns a text in its most readable form. The library quotes all texts that readers would take for something
// else, except the text of a merge key. Block scalars that begin with a space or contain a carriage return would be
// read differently.
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

// encode returns a node as a YAML document, indented by two spaces.
func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, fmt.Errorf("render YAML: %w", err)
	}
	return out.Bytes(), encoder.Close()
}
