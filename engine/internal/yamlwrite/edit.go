package yamlwrite

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Set returns the document with the value at a path of keys set; missing maps on the path are created. value is YAML,
// or plain text if text is set. Comments and the order of the keys are kept; all lines get the form of the library,
// without blank lines. data must be empty, or a document without faults whose root is a map.
func Set(data []byte, keys []string, value string, text bool) ([]byte, error) {
	wanted, err := valueNode(value, text)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var comments []byte
	if len(document.Content) == 0 {
		comments = data // the library drops comments without a value
	}
	if len(document.Content) == 0 || isNull(document.Content[0]) {
		document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
	}
	if err := set(document.Content[0], keys, wanted); err != nil {
		return nil, err
	}
	writeNulls(&document, false)
	changed, err := encode(&document)
	if err != nil {
		return nil, err
	}
	if comments = bytes.TrimSpace(comments); len(comments) > 0 {
		changed = slices.Concat(comments, []byte("\n"), changed)
	}
	if !decodesTo(changed, &document) {
		return nil, fmt.Errorf("%s cannot be set without changing other values of the file: edit the file by hand", strings.Join(keys, "."))
	}
	return changed, nil
}

// decodesTo reports whether a text has the values of the document.
func decodesTo(text []byte, document *yaml.Node) bool {
	var got, want any
	return yaml.Unmarshal(text, &got) == nil && document.Decode(&want) == nil && reflect.DeepEqual(got, want)
}

// writeNulls gives empty nulls in flow maps and lists the text null; the library would render them as nothing.
func writeNulls(n *yaml.Node, flow bool) {
	if flow && isNull(n) {
		n.Value = "null"
	}
	for _, c := range n.Content {
		writeNulls(c, flow || n.Style&yaml.FlowStyle != 0)
	}
}

// valueNode returns the node of a value.
func valueNode(value string, text bool) (*yaml.Node, error) {
	if text {
		return textNode(value), nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(value), &document); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return document.Content[0], nil
}

// set sets the value at a path of keys in a map.
func set(m *yaml.Node, keys []string, value *yaml.Node) error {
	for i, key := range keys {
		if m.Kind != yaml.MappingNode {
			return fmt.Errorf("%s is not a map (line %d)", keyPath(keys[:i]), m.Line)
		}
		next := mappingValue(m, key)
		switch {
		case next == nil:
			m.Content = append(m.Content, nestedMaps(keys[i:], value).Content...)
			return nil
		case next.Kind == yaml.AliasNode:
			return fmt.Errorf("%s is an alias of an anchor (line %d): edit the file", strings.Join(keys[:i+1], "."), next.Line)
		case i == len(keys)-1, isNull(next):
			kept := *next
			*next = *nestedMaps(keys[i+1:], value)
			next.HeadComment, next.LineComment, next.FootComment = kept.HeadComment, kept.LineComment, kept.FootComment
			return nil
		}
		m = next
	}
	return errors.New("the path of keys is empty")
}

func keyPath(keys []string) string {
	if len(keys) == 0 {
		return "the file"
	}
	return strings.Join(keys, ".")
}

func mappingValue(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// nestedMaps wraps a value into maps, one for each key.
func nestedMaps(keys []string, value *yaml.Node) *yaml.Node {
	for _, key := range slices.Backward(keys) {
		name := &yaml.Node{}
		name.SetString(key)
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{name, value}}
	}
	return value
}
