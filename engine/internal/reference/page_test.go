package reference_test

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/reference"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

// page returns the reference of every key of every map, as Markdown.
func page() string {
	var b strings.Builder
	b.WriteString(`# Reference

Every key of a pipeline file, of ` + "`stage.yaml`" + ` and of ` + "`config.yaml`" + `. This page is generated from the tables of the compiler, as are the
[schemas for editors](editors.md); [pipelines](pipelines.md), [stages](stages.md), [artifacts](artifacts.md), [hooks](hooks.md) and [configuration](configuration.md) explain the keys.

A number may be written as text, a number or a boolean counts as a text, and a key without a value, or with an empty text, counts as absent; in ` + "`sandbox`" + ` an empty text is refused. Keys that begin with
` + "`x-`" + ` are the author's own, except where the table says so.
`)
	written := map[*dialect.Object]bool{}
	for _, file := range reference.Files() {
		for _, m := range reference.Objects(file) {
			if !written[m] {
				written[m] = true
				writeObject(&b, m, m == file)
			}
		}
	}
	return b.String()
}

// headings are the headings of the files in the reference.
var headings = map[string]string{"pipeline": "A pipeline", "stage": "stage.yaml", "config": "config.yaml"}

func writeObject(b *strings.Builder, m *dialect.Object, file bool) {
	level, heading := "###", "`"+m.Name+"`"
	if file {
		level, heading = "##", headings[m.Name]
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", level, heading, m.Doc, otherKeysText(m))
	for _, k := range m.Fields {
		fallback := k.Default
		if k.Required {
			fallback = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, typeText(k.Value), cell(fallback), cell(k.Doc))
	}
}

// otherKeysText describes the treatment of unknown keys.
func otherKeysText(m *dialect.Object) string {
	switch m.Unknown {
	case dialect.Refused:
		return "Another key is an error."
	case dialect.RefusedAll:
		return "Another key is an error, even one that begins with `x-`."
	case dialect.PassedOn:
		return "Other keys are passed to the plugin."
	default:
		return "Another key is ignored, with a warning."
	}
}

// cell escapes a text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText describes the type of the value.
func typeText(v dialect.Value) string {
	if v.About != "" && v.Type != dialect.List {
		return cell(v.About)
	}
	switch v.Type {
	case dialect.Any:
		return "anything"
	case dialect.Text, dialect.String:
		return cmp.Or(v.About, "text")
	case dialect.Choice:
		quoted := make([]string, len(v.Choices))
		for i, w := range v.Choices {
			quoted[i] = "`" + w + "`"
		}
		return dialect.JoinOr(quoted)
	case dialect.Number, dialect.Integer, dialect.Size:
		return cmp.Or(v.About, boundsText(v))
	case dialect.Boolean:
		return "`true` or `false`"
	case dialect.List:
		return cmp.Or(v.About, "list of "+inlineText(*v.Item))
	case dialect.MapOf:
		return cmp.Or(v.About, "names, each with "+inlineText(*v.Item))
	case dialect.Nested:
		return inlineText(v)
	default:
		var all []string
		for _, f := range v.Forms {
			all = append(all, typeText(f))
		}
		return strings.Join(all, "; or ")
	}
}

// inlineText describes the value within a sentence; a map is a link.
func inlineText(v dialect.Value) string {
	if v.Type != dialect.Nested {
		return typeText(v)
	}
	return "[`" + v.Object.Name + "`](#" + v.Object.Name + ")"
}

func boundsText(v dialect.Value) string {
	name := "number"
	if v.Type == dialect.Integer {
		name = "whole number"
	}
	switch {
	case v.Above != nil:
		return fmt.Sprintf("%s above %v", name, *v.Above)
	case v.Least != nil && v.Most != nil && *v.Most < dialect.MaxCount:
		return fmt.Sprintf("%s from %v to %v", name, *v.Least, *v.Most)
	case v.Least != nil:
		return fmt.Sprintf("%s, at least %v", name, *v.Least)
	default:
		return name
	}
}
