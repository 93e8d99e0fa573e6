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

// Set returns the document with the value at a path of keys set; missing maps on the path are created. value is
// YAML, or with text a plain text. Comments are kept. Other lines are kept if possible; otherwise the document is
// rendered again. data must be empty, or a document without faults whose root is a map.
func Set(data []byte, keys []string, value string, text bool) ([]byte, error) {
	wanted, err := valueNode(value, text)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || isNull(document.Content[0]) {
		document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
	}
	e, err := newEdit(&document, keys, wanted)
	if err != nil {
		return nil, err
	}
	lines := e.editLines(data)
	e.apply()
	writeNulls(&document, false)
	whole, err := encode(&document)
	if err != nil {
		return nil, err
	}
	below := bytes.TrimLeft(slices.Concat(bytes.TrimRight(data, "\n"), []byte("\n"), whole), "\n") // of comments alone
	for _, text := range [][]byte{lines, below, whole} {
		if decodesTo(text, &document) {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be set without other changes: edit the file", strings.Join(keys, "."))
}

// decodesTo reports whether a text has the values of the document.
func decodesTo(text []byte, document *yaml.Node) bool {
	var got, want any
	return text != nil && yaml.Unmarshal(text, &got) == nil && document.Decode(&want) == nil && reflect.DeepEqual(got, want)
}

// writeNulls writes out empty nulls in flow maps and lists, which the library renders as nothing.
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
	if text { // the library adds the quotes that readers of YAML 1.1 need
		quoted, err := yaml.Marshal(value)
		if err != nil {
			return nil, err
		}
		var back string // some texts of line breaks and spaces change when they are read again
		same := yaml.Unmarshal(quoted, &back) == nil && back == value
		if !same {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: value}, nil
		}
		value = string(quoted)
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

// edit is a change of a document: a new value of an existing key, or a new key in an existing map.
type edit struct {
	old    *yaml.Node // the map of the key
	parent *yaml.Node // the map that the key is in
	key    string
	value  *yaml.Node
}

// newEdit returns the edit for a path. Missing maps become part of the value.
func newEdit(document *yaml.Node, keys []string, value *yaml.Node) (edit, error) {
	at := document.Content[0]
	for i, key := range keys {
		if at.Kind != yaml.MappingNode {
			return edit{}, fmt.Errorf("%s is not a map (line %d)", keyPath(keys[:i]), at.Line)
		}
		next := mappingValue(at, key)
		if next != nil && next.Kind == yaml.AliasNode {
			return edit{}, fmt.Errorf("%s is an alias of an anchor (line %d): edit the file", strings.Join(keys[:i+1], "."), next.Line)
		}
		if next != nil && i == len(keys)-1 || next != nil && isNull(next) {
			return edit{old: next, parent: at, key: key, value: nestedMaps(keys[i+1:], value)}, nil
		}
		if next == nil {
			return edit{parent: at, key: key, value: nestedMaps(keys[i+1:], value)}, nil
		}
		at = next
	}
	return edit{}, errors.New("the path of keys is empty")
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

// apply changes the nodes.
func (e edit) apply() {
	if e.old == nil {
		e.parent.Content = append(e.parent.Content, nestedMaps([]string{e.key}, e.value).Content...)
		return
	}
	kept := *e.old
	*e.old = *e.value
	e.old.HeadComment, e.old.LineComment, e.old.FootComment = kept.HeadComment, kept.LineComment, kept.FootComment
}

// editLines returns the document with changes only in the lines of the value; nil if that is not possible. The
// caller checks the result.
func (e edit) editLines(data []byte) []byte {
	switch {
	case len(e.parent.Content) == 0, bytes.ContainsRune(data, '\r'):
		return nil
	case e.old != nil:
		return e.replace(data)
	case e.parent.Style&yaml.FlowStyle != 0:
		return e.insertInFlow(data)
	default:
		return e.insert(data)
	}
}

// insertInFlow inserts a new key after the last value of a map in braces, if that value is a scalar.
func (e edit) insertInFlow(data []byte) []byte {
	last := e.parent.Content[len(e.parent.Content)-1]
	lines := bytes.SplitAfter(data, []byte("\n"))
	added := nestedMaps([]string{e.key}, e.value)
	added.Style = yaml.FlowStyle
	text, err := encode(added)
	if err != nil || last.Kind != yaml.ScalarNode || last.Line > len(lines) || bytes.Count(text, []byte("\n")) != 1 {
		return nil
	}
	line := []rune(string(lines[last.Line-1]))
	from := min(last.Column-1, len(line))
	end := from + tokenLength(line[from:], last)
	pair := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(text)), "{"), "}")
	lines[last.Line-1] = []byte(string(line[:end]) + ", " + pair + string(line[end:]))
	return bytes.Join(lines, nil)
}

// replace replaces a scalar by another in its line.
func (e edit) replace(data []byte) []byte {
	if e.old.Kind != yaml.ScalarNode || e.value.Kind != yaml.ScalarNode || e.old.Anchor != "" {
		return nil
	}
	text, err := encode(e.value)
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		return nil
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if e.old.Line > len(lines) {
		return nil
	}
	line := []rune(string(lines[e.old.Line-1]))
	from := e.old.Column - 1
	length := tokenLength(line[min(from, len(line)):], e.old)
	if length <= 0 {
		return nil
	}
	lines[e.old.Line-1] = []byte(string(line[:from]) + strings.TrimSpace(string(text)) + string(line[from+length:]))
	return bytes.Join(lines, nil)
}

// tokenLength returns the number of characters of a scalar in a line; 0 if it is not written in one piece.
func tokenLength(line []rune, n *yaml.Node) int {
	quote := rune(0)
	switch n.Style {
	case yaml.DoubleQuotedStyle:
		quote = '"'
	case yaml.SingleQuotedStyle:
		quote = '\''
	case 0:
		if strings.HasPrefix(string(line), n.Value) {
			return len([]rune(n.Value))
		}
	}
	for i := 1; quote != 0 && i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return 0
}

// insert inserts a new key after the last line of its map.
func (e edit) insert(data []byte) []byte {
	text, err := encode(nestedMaps([]string{e.key}, e.value))
	if err != nil {
		return nil
	}
	indent := e.parent.Content[0].Column - 1
	lines := bytes.SplitAfter(data, []byte("\n"))
	end := min(lastLine(e.parent), len(lines)) // a missing value has its position behind the lines
	for i := end; i < len(lines); i++ {
		switch {
		case len(bytes.TrimSpace(lines[i])) == 0:
		case indentation(lines[i]) > indent, indent == 0: // the comments at the end of the file belong to the root map
			end = i + 1
		default:
			i = len(lines)
		}
	}
	var added [][]byte
	if last := lines[end-1]; !bytes.HasSuffix(last, []byte("\n")) {
		added = append(added, []byte("\n"))
	}
	for line := range bytes.Lines(text) {
		added = append(added, append(bytes.Repeat([]byte(" "), indent), line...))
	}
	return bytes.Join(slices.Insert(lines, end, added...), nil)
}

// lastLine returns the last line on which a part of n begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// indentation returns the number of leading spaces of a line.
func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
