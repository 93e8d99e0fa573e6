package contextstrategy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// artifactData returns the data of a node's newest artifact, nil without one. It omits the envelope, whose times
// differ between runs.
func (s Source) artifactData(n *plan.Node) (any, error) {
	if n == nil {
		return nil, nil //nolint:nilnil // no error without one
	}
	ref, ok := s.State.ArtifactOf(n.Path)
	if !ok {
		return nil, nil //nolint:nilnil // no error without one
	}
	return s.readData(ref)
}

func (s Source) readData(ref event.Ref) (any, error) {
	a, err := artifact.Load(s.Dir, ref)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(a.Data)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// inputData returns the data of the node's input artifact and the id of its node; nil without one.
func (s Source) inputData() (v any, from string, err error) {
	in, has := artifact.FindInput(s.Plan, s.State, s.Node, s.Location)
	if !has {
		return nil, "", nil
	}
	v, err = s.readData(in.Ref)
	return v, in.From, err
}

func parse(data []byte) (v any, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

// artifactSection returns a node's newest artifact as a section, without text if it has none.
func (s Source) artifactSection(n *plan.Node) (Section, error) {
	ref, has := s.State.ArtifactOf(n.Path)
	if !has {
		return Section{}, nil
	}
	text, err := s.artifactBody(ref)
	return Section{Kind: Talk, Name: "artifact of " + n.ID, Text: text}, err
}

// artifactBody returns the data of an artifact as text, or its outline if it is large.
func (s Source) artifactBody(ref event.Ref) (string, error) {
	a, err := artifact.Load(s.Dir, ref)
	if err != nil {
		return "", err
	}
	if ref.Size > artifact.MaxInline {
		return artifact.Outline(s.Dir, ref, a.Data), nil
	}
	text, err := json.MarshalIndent(a.Data, "", "  ")
	return string(text), err
}

// factSection returns a section with text from an artifact, limited to the size of an artifact in a prompt.
func factSection(name, text string) Section {
	section := Section{Kind: Fact, Name: name, Text: text}
	if len(text) > artifact.MaxInline {
		section.Text, section.Size = section.truncate(artifact.MaxInline), int64(len(text))
	}
	return section
}

// stepItem returns the item of the iteration's step, nil outside steps.
func (s Source) stepItem() (any, error) {
	step, ok := s.State.Nodes[s.Location.Outer()].Steps[s.Location.Step]
	if s.Location.Step == "" || !ok {
		return nil, nil //nolint:nilnil // no error without one
	}
	data, err := s.Dir.ReadRef(step.Item)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// step returns the iteration's step as a section.
func (s Source) step() ([]Section, error) {
	step, ok := s.State.Nodes[s.Location.Outer()].Steps[s.Location.Step]
	if s.Location.Step == "" || !ok {
		return nil, nil
	}
	data, err := s.Dir.ReadRef(step.Item)
	return []Section{{Kind: Fact, Name: "step " + s.Location.Step, Text: s.unlessInPrompt(string(data))}}, err
}

// stepCriteria returns the acceptance criteria of the step and of the objects around it; outside steps those of the
// node's input artifact.
func (s Source) stepCriteria() ([]Section, error) {
	item, err := s.stepItem()
	if err != nil {
		return nil, err
	}
	if item == nil {
		v, from, err := s.inputData()
		return criteriaSections(v, from), err
	}
	var b strings.Builder
	data, err := s.artifactData(s.sibling(s.Node.Steps.From))
	path := pathTo(data, item)
	if len(path) == 0 {
		path = []map[string]any{asObject(item)}
	}
	for _, v := range path {
		writeCriteria(&b, v)
	}
	return []Section{factSection("acceptance criteria", b.String())}, err
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// sibling returns the node with the id in the list of this one, nil if there is none.
func (s Source) sibling(id string) *plan.Node {
	nodes, _ := s.Plan.Siblings(s.Location.Outer())
	i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &nodes[i]
}

// pathTo returns the objects from the outermost down to the one that equals item; nil if v does not contain it.
func pathTo(v, item any) []map[string]any {
	m, isObject := v.(map[string]any)
	if isObject && reflect.DeepEqual(v, item) {
		return []map[string]any{m}
	}
	for _, inner := range members(v) {
		if path := pathTo(inner, item); path != nil {
			if isObject {
				path = append([]map[string]any{m}, path...)
			}
			return path
		}
	}
	return nil
}

// members returns the elements of a list, or the values of an object in the order of its keys.
func members(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		var all []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, v[key])
		}
		return all
	case []any:
		return v
	default:
		return nil
	}
}

// criteria returns the acceptance criteria in the artifacts of all earlier nodes.
func (s Source) criteria() ([]Section, error) {
	var sections []Section
	nodes, position := s.Plan.Siblings(s.Location.Outer())
	for i := range nodes[:max(0, position)] {
		of, err := s.nodeCriteria(&nodes[i])
		if err != nil {
			return nil, err
		}
		sections = append(sections, of...)
	}
	return sections, nil
}

func (s Source) nodeCriteria(n *plan.Node) ([]Section, error) {
	data, err := s.artifactData(n)
	return criteriaSections(data, n.ID), err
}

// criteriaSections returns the acceptance criteria in an artifact.
func criteriaSections(data any, from string) []Section {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		writeCriteria(&b, asObject(v))
		for _, inner := range members(v) {
			walk(inner)
		}
	}
	walk(data)
	return []Section{factSection("acceptance criteria of "+from, b.String())}
}

// writeCriteria writes the criteria of the object itself, under its title.
func writeCriteria(b *strings.Builder, m map[string]any) {
	var lines []string
	for _, key := range []string{"acceptance_criteria", "criteria", "verification"} {
		for _, c := range append(members(m[key]), m[key]) {
			if text, ok := c.(string); ok {
				lines = append(lines, "- "+oneLine(text))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	if name := objectTitle(m); name != "" {
		fmt.Fprintf(b, "%s:\n", name)
	}
	b.WriteString(strings.Join(lines, "\n") + "\n")
}

// objectTitle returns an object's title, "" without one.
func objectTitle(m map[string]any) string {
	for _, key := range []string{"title", "goal", "name", "id"} {
		if text, ok := m[key].(string); ok && text != "" {
			return oneLine(text)
		}
	}
	return ""
}

// titles returns the titles in the plans that the pipeline's steps come from; without steps, in the node's input
// artifact.
func (s Source) titles() ([]Section, error) {
	nodes, _ := s.Plan.Siblings(s.Location.Outer())
	var sources []*plan.Node
	for i := range nodes {
		if steps := nodes[i].Steps; steps != nil {
			if from := s.sibling(steps.From); from != nil && !slices.ContainsFunc(sources, func(n *plan.Node) bool { return n.ID == from.ID }) {
				sources = append(sources, from)
			}
		}
	}
	if len(sources) == 0 {
		data, from, err := s.inputData()
		return []Section{titlesSection(data, from)}, err
	}
	var sections []Section
	for _, n := range sources {
		data, err := s.artifactData(n)
		if err != nil {
			return nil, err
		}
		sections = append(sections, titlesSection(data, n.ID))
	}
	return sections, nil
}

func titlesSection(data any, from string) Section {
	var b strings.Builder
	writeTitles(&b, data, 0)
	return factSection("titles of "+from, b.String())
}

func writeTitles(b *strings.Builder, v any, depth int) {
	m := asObject(v)
	for _, key := range []string{"goal", "title"} {
		if text, ok := m[key].(string); ok {
			fmt.Fprintf(b, "%s- %s\n", strings.Repeat("  ", depth), oneLine(text))
			depth++
			break
		}
	}
	for _, inner := range members(v) {
		writeTitles(b, inner, depth)
	}
}
