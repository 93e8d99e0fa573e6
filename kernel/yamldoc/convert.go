package yamldoc

import (
	"errors"
	"math"

	"gopkg.in/yaml.v3"
)

var errNotFinite = errors.New("not a finite number")

// converter builds the tree from the nodes of the library.
type converter struct {
	faults    []Fault
	values    int
	stopped   bool                // a bound was exceeded and reported
	expanding map[*yaml.Node]bool // anchored values that are being expanded
}

func (c *converter) report(f Fault) { c.faults = append(c.faults, f) }

// value converts n. A value that cannot be converted is reported and becomes null.
func (c *converter) value(n *yaml.Node, depth int) *Node {
	at := Pos{n.Line, n.Column}
	if !c.countValue(at, depth) {
		return &Node{Pos: at}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.value(n.Content[0], depth)
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.SequenceNode:
		return c.list(n, depth)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	default:
		return c.scalar(n)
	}
}

// countValue counts a value and returns false once a bound is exceeded. It reports only the first excess.
func (c *converter) countValue(at Pos, depth int) bool {
	c.values++
	if c.stopped || c.values <= MaxValues && depth <= MaxDepth {
		return !c.stopped
	}
	c.stopped = true
	if depth > MaxDepth {
		c.report(faultf(CodeSize, at, "", "the document is nested more than %d levels deep", MaxDepth))
		return false
	}
	c.report(faultf(CodeSize, at, "use fewer aliases", "the document has more than %d values once its aliases are expanded", MaxValues))
	return false
}

// alias expands the anchored value at the position of its use.
func (c *converter) alias(n *yaml.Node, depth int) *Node {
	at := Pos{n.Line, n.Column}
	if c.expanding[n.Alias] {
		c.report(faultf(CodeUnsupported, at, "", "alias *%s is inside of its own value", n.Value))
		return &Node{Pos: at}
	}
	c.expanding[n.Alias] = true
	defer delete(c.expanding, n.Alias)
	expanded := *c.value(n.Alias, depth+1)
	expanded.Pos = at
	return &expanded
}

func (c *converter) list(n *yaml.Node, depth int) *Node {
	c.checkTag(n, "!!seq")
	list := &Node{Pos: Pos{n.Line, n.Column}, Kind: List}
	for _, item := range n.Content {
		list.Items = append(list.Items, c.value(item, depth+1))
	}
	return list
}

func (c *converter) mapping(n *yaml.Node, depth int) *Node {
	c.checkTag(n, "!!map")
	m := &Node{Pos: Pos{n.Line, n.Column}, Kind: Map}
	var merged []Entry
	seen := map[string]Pos{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], c.value(n.Content[i+1], depth+1)
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, c.mergeEntries(value)...)
			continue
		}
		entry, ok := c.entry(key, value)
		if !ok {
			continue
		}
		if first, twice := seen[entry.Key]; twice {
			c.report(faultf(CodeDuplicate, entry.KeyPos, "keep one of the two", "key %q is repeated, first in line %d", entry.Key, first.Line))
			continue
		}
		seen[entry.Key] = entry.KeyPos
		m.Entries = append(m.Entries, entry)
	}
	for _, entry := range merged {
		if _, own := seen[entry.Key]; !own {
			seen[entry.Key] = entry.KeyPos
			m.Entries = append(m.Entries, entry)
		}
	}
	return m
}

// entry returns a key with its value. Keys are text; a number or boolean counts as its text.
func (c *converter) entry(key *yaml.Node, value *Node) (Entry, bool) {
	at := Pos{key.Line, key.Column}
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
		c.report(faultf(CodeUnsupported, at, "use text as the key", "a key must be text"))
		return Entry{}, false
	}
	return Entry{Key: key.Value, KeyPos: at, Value: value}, true
}

// mergeEntries returns the entries of the map, or of the maps in the list, that a merge key (<<) has as its value. Of
// entries with the same key, mapping keeps the first.
func (c *converter) mergeEntries(value *Node) []Entry {
	switch value.Kind {
	case Map:
		return value.Entries
	case List:
		var entries []Entry
		for _, item := range value.Items {
			if item.Kind != Map {
				c.report(faultf(CodeUnsupported, item.Pos, "", "a merge key (<<) takes a map or a list of maps, not %s", item.Kind))
			}
			entries = append(entries, item.Entries...)
		}
		return entries
	default:
		c.report(faultf(CodeUnsupported, value.Pos, "", "a merge key (<<) takes a map or a list of maps, not %s", value.Kind))
		return nil
	}
}

func (c *converter) scalar(n *yaml.Node) *Node {
	node := &Node{Pos: Pos{n.Line, n.Column}, Kind: Text, Source: n.Value}
	var err error
	switch n.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		return node
	case "!!null":
		node.Kind = Null
	case "!!bool":
		var b bool
		node.Kind, err = Bool, n.Decode(&b)
		node.scalar = b
	case "!!int", "!!float":
		node.Kind = Number
		node.scalar, err = number(n)
	default:
		c.checkTag(n, "!!str")
		return node
	}
	if err != nil {
		c.report(faultf(CodeUnsupported, node.Pos, "put it in quotes if it is text", "%q is not a finite number or boolean", n.Value))
		return &Node{Pos: node.Pos}
	}
	return node
}

// number decodes a finite number: an int if it is written as an integer that fits, else a float64.
func number(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int:
		return v, nil
	case uint64:
		return float64(v), nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return nil, errNotFinite
}

// checkTag reports a fault if the tag of n is not plain.
func (c *converter) checkTag(n *yaml.Node, plain string) {
	if tag := n.ShortTag(); tag != plain {
		c.report(faultf(CodeUnsupported, Pos{n.Line, n.Column}, "remove the tag", "tag %s is not supported", tag))
	}
}
