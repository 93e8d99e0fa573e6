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

// dataOf is the data of a node's newest artifact, nil if it has none. Its envelope is left out: times would be others in
// each run.
func (s Source) dataOf(n *plan.Node) (any, error) {
	if n == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	ref, ok := s.State.ArtifactOf(n.Path)
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	return s.data(ref)
}

func (s Source) data(ref event.Ref) (any, error) {
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

// given is the data of the artifact that the node works from, and whose it is; nil if there is none.
func (s Source) given() (v any, from string, err error) {
	in, has := artifact.InputOf(s.Plan, s.State, s.Node, s.Location)
	if !has {
		return nil, "", nil
	}
	v, err = s.data(in.Ref)
	return v, in.From, err
}

// parse reads JSON.
func parse(data []byte) (v any, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

// artifactText is a node's newest artifact as a section, without text if it has none.
func (s Source) artifactText(n *plan.Node) (Section, error) {
	ref, has := s.State.ArtifactOf(n.Path)
	if !has {
		return Section{}, nil
	}
	text, err := s.artifactAt(ref)
	return Section{Kind: Talk, Name: "artifact of " + n.ID, Text: text}, err
}

// artifactAt is the data of an artifact as text, or its outline where it is large.
func (s Source) artifactAt(ref event.Ref) (string, error) {
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

// drawn is a section of what was drawn out of an artifact: no more of it than an artifact may have that stands in a
// prompt.
func drawn(name, text string) Section {
	section := Section{Kind: Fact, Name: name, Text: text}
	if len(text) > artifact.MaxInline {
		section.Text, section.Size = section.keep(artifact.MaxInline), int64(len(text))
	}
	return section
}

// item is the step that the iteration is for, nil outside steps.
func (s Source) item() (any, error) {
	step, ok := s.State.Nodes[s.Location.Outer()].Steps[s.Location.Step]
	if s.Location.Step == "" || !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	data, err := s.Dir.ReadRef(step.Item)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// step is the step that the iteration is for.
func (s Source) step() ([]Section, error) {
	step, ok := s.State.Nodes[s.Location.Outer()].Steps[s.Location.Step]
	if s.Location.Step == "" || !ok {
		return nil, nil
	}
	data, err := s.Dir.ReadRef(step.Item)
	return []Section{{Kind: Fact, Name: "step " + s.Location.Step, Text: s.unsaid(string(data))}}, err
}

// stepCriteria is what the step and what it belongs to have to come to; outside steps what the artifact that the node
// works from demands.
func (s Source) stepCriteria() ([]Section, error) {
	item, err := s.item()
	if err != nil {
		return nil, err
	}
	if item == nil {
		v, from, err := s.given()
		return criteriaIn(v, from), err
	}
	var b strings.Builder
	data, err := s.dataOf(s.sibling(s.Node.Steps.From))
	way := wayTo(data, item)
	if len(way) == 0 {
		way = []map[string]any{object(item)}
	}
	for _, v := range way {
		writeCriteria(&b, v)
	}
	return []Section{drawn("acceptance criteria", b.String())}, err
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// sibling is the node with the id in the list of this one, nil if there is none.
func (s Source) sibling(id string) *plan.Node {
	nodes, _ := s.Plan.Siblings(s.Location.Outer())
	i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &nodes[i]
}

// wayTo are the objects from the outermost down to the one that equals item; nil if it is not in v.
func wayTo(v, item any) []map[string]any {
	m, isObject := v.(map[string]any)
	if isObject && reflect.DeepEqual(v, item) {
		return []map[string]any{m}
	}
	for _, inner := range members(v) {
		if way := wayTo(inner, item); way != nil {
			if isObject {
				way = append([]map[string]any{m}, way...)
			}
			return way
		}
	}
	return nil
}

// members are what an object or a list holds, an object's in the order of its keys.
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

// criteria is what the artifacts of all nodes before demand.
func (s Source) criteria() ([]Section, error) {
	var sections []Section
	nodes, position := s.Plan.Siblings(s.Location.Outer())
	for i := range nodes[:max(0, position)] {
		of, err := s.criteriaOf(&nodes[i])
		if err != nil {
			return nil, err
		}
		sections = append(sections, of...)
	}
	return sections, nil
}

func (s Source) criteriaOf(n *plan.Node) ([]Section, error) {
	data, err := s.dataOf(n)
	return criteriaIn(data, n.ID), err
}

// criteriaIn is what an artifact demands.
func criteriaIn(data any, from string) []Section {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		writeCriteria(&b, object(v))
		for _, inner := range members(v) {
			walk(inner)
		}
	}
	walk(data)
	return []Section{drawn("acceptance criteria of "+from, b.String())}
}

// writeCriteria writes the criteria that an object itself has, under its name.
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
	if name := titleOf(m); name != "" {
		fmt.Fprintf(b, "%s:\n", name)
	}
	b.WriteString(strings.Join(lines, "\n") + "\n")
}

// titleOf is what an object is called, "" if it does not say.
func titleOf(m map[string]any) string {
	for _, key := range []string{"title", "goal", "name", "id"} {
		if text, ok := m[key].(string); ok && text != "" {
			return oneLine(text)
		}
	}
	return ""
}

// titles are those of the plans that the steps of the pipeline come from; without steps, of the artifact that the node
// works from.
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
		data, from, err := s.given()
		return []Section{titlesIn(data, from)}, err
	}
	var sections []Section
	for _, n := range sources {
		data, err := s.dataOf(n)
		if err != nil {
			return nil, err
		}
		sections = append(sections, titlesIn(data, n.ID))
	}
	return sections, nil
}

func titlesIn(data any, from string) Section {
	var b strings.Builder
	writeTitles(&b, data, 0)
	return drawn("titles of "+from, b.String())
}

func writeTitles(b *strings.Builder, v any, depth int) {
	m := object(v)
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
