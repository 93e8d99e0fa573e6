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

// artifactData returns the data of a node's newest artifact, nil without one.
func (b *builder) artifactData(n *plan.Node) any {
	if n == nil {
		return nil
	}
	ref, ok := b.State.NodeArtifact(n.Path)
	if !ok {
		return nil
	}
	return b.readData(ref)
}

// readData returns the data of an artifact. It omits the envelope, whose times differ between runs.
func (b *builder) readData(ref event.Ref) any {
	a, err := artifact.Load(b.Dir, ref)
	b.keep(err)
	data, err := json.Marshal(a.Data)
	b.keep(err)
	return b.parse(data)
}

func (b *builder) parse(data []byte) (v any) {
	b.keep(json.Unmarshal(data, &v))
	return v
}

// inputData returns the data of the node's input artifact and the id of the node that made it; nil without an
// artifact.
func (b *builder) inputData() (v any, from string) {
	in, has := artifact.FindInput(b.Plan, b.State, b.Node, b.Command.Location)
	if !has {
		return nil, ""
	}
	return b.readData(in.Ref), in.From
}

// addArtifact adds a node's newest artifact, if it has one.
func (b *builder) addArtifact(n *plan.Node) {
	if ref, has := b.State.NodeArtifact(n.Path); has {
		text, err := b.artifactBody(ref)
		b.keep(err)
		b.add(Talk, "artifact of "+n.ID, text)
	}
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

// addFacts adds a text from an artifact, limited to the size of an artifact in a prompt.
func (b *builder) addFacts(name, text string) {
	section := Section{Kind: Fact, Name: name, Text: text}
	if len(text) > artifact.MaxInline {
		section.Text, section.Size = section.truncate(artifact.MaxInline), int64(len(text))
	}
	b.sections = append(b.sections, section)
}

// stepText returns the planned item of the iteration's step, nil outside steps.
func (b *builder) stepText() []byte {
	step, ok := b.State.Nodes[b.Command.Location.Outer()].Steps[b.Command.Location.Step]
	if b.Command.Location.Step == "" || !ok {
		return nil
	}
	data, err := b.Dir.ReadRef(step.Item)
	b.keep(err)
	return data
}

// stepItem returns the item of the iteration's step, nil outside steps.
func (b *builder) stepItem() any {
	data := b.stepText()
	if data == nil {
		return nil
	}
	return b.parse(data)
}

// step adds the iteration's step with its acceptance criteria and those of the objects that contain the step. Outside
// steps it adds the criteria in the node's input artifact.
func (b *builder) step() {
	b.add(Fact, "step "+b.Command.Location.Step, b.omitIfInPrompt(string(b.stepText())))
	item := b.stepItem()
	if item == nil {
		data, from := b.inputData()
		b.addFacts("acceptance criteria of "+from, criteriaText(data))
		return
	}
	path := pathTo(b.artifactData(b.sibling(b.Node.Steps.From)), item)
	if len(path) == 0 {
		path = []map[string]any{asObject(item)}
	}
	var text strings.Builder
	for _, v := range path {
		writeCriteria(&text, v)
	}
	b.addFacts("acceptance criteria", text.String())
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
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

// walk calls f with a value and all values in it, the outer ones first.
func walk(v any, f func(any)) {
	f(v)
	for _, inner := range members(v) {
		walk(inner, f)
	}
}

// criteria adds the acceptance criteria in the artifacts of all earlier nodes.
func (b *builder) criteria() {
	nodes, position := b.Plan.Siblings(b.Command.Location.Outer())
	for i := range nodes[:max(0, position)] {
		b.addFacts("acceptance criteria of "+nodes[i].ID, criteriaText(b.artifactData(&nodes[i])))
	}
}

// criteriaText returns the acceptance criteria in an artifact.
func criteriaText(data any) string {
	var text strings.Builder
	walk(data, func(v any) { writeCriteria(&text, asObject(v)) })
	return text.String()
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

// titles adds the titles in the artifacts that define the pipeline's steps; without steps, the titles in the node's
// input artifact.
func (b *builder) titles() {
	nodes, _ := b.Plan.Siblings(b.Command.Location.Outer())
	var sources []*plan.Node
	for i := range nodes {
		if steps := nodes[i].Steps; steps != nil {
			if from := b.sibling(steps.From); from != nil && !slices.Contains(sources, from) {
				sources = append(sources, from)
			}
		}
	}
	if len(sources) == 0 {
		data, from := b.inputData()
		b.addFacts("titles of "+from, titlesText(data))
	}
	for _, n := range sources {
		b.addFacts("titles of "+n.ID, titlesText(b.artifactData(n)))
	}
}

// titlesText returns the titles in an artifact, indented by their depth.
func titlesText(data any) string {
	var text strings.Builder
	writeTitles(&text, data, 0)
	return text.String()
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
