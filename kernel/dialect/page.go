package dialect

import (
	"cmp"
	"fmt"
	"strings"
)

// Files returns the files of the dialect, in the order of the reference.
func Files() []*Object { return []*Object{&Pipeline, &Stage, &Config} }

// Page returns the reference of every key of every map, as Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Reference

Every key of a pipeline file, of ` + "`stage.yaml`" + ` and of ` + "`config.yaml`" + `. This page is generated from the tables of the compiler, as are the
[schemas for editors](editors.md); [pipelines](pipelines.md), [stages](stages.md), [artifacts](artifacts.md), [hooks](hooks.md) and [configuration](configuration.md) explain the keys.

In pipelines and stages a number may be written as text, a number or a boolean counts as a text, and a key without a value, or with an empty text, counts as absent. Keys that begin with
` + "`x-`" + ` are the author's own, except where the table says so.
`)
	written := map[*Object]bool{}
	for _, file := range Files() {
		for _, m := range file.All() {
			if !written[m] {
				written[m] = true
				m.writePage(&b, m == file)
			}
		}
	}
	return b.String()
}

// headings are the headings of the files in the reference.
var headings = map[string]string{"pipeline": "A pipeline", "stage": "stage.yaml", "config": "config.yaml"}

func (m *Object) writePage(b *strings.Builder, file bool) {
	level, heading := "###", "`"+m.Name+"`"
	if file {
		level, heading = "##", headings[m.Name]
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", level, heading, m.Doc, m.otherKeysText())
	for _, k := range m.Fields {
		fallback := k.Default
		if k.Required {
			fallback = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, k.Value.typeText(), cell(fallback), cell(k.Doc))
	}
}

// otherKeysText describes the treatment of unknown keys.
func (m *Object) otherKeysText() string {
	switch m.Unknown {
	case Refused:
		return "Another key is an error."
	case RefusedAll:
		return "Another key is an error, even one that begins with `x-`."
	case PassedOn:
		return "Other keys are passed to the plugin."
	default:
		return "Another key is ignored, with a warning."
	}
}

// cell escapes a text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText describes the type of the value.
func (v Value) typeText() string {
	if v.About != "" && v.Type != List {
		return cell(v.About)
	}
	switch v.Type {
	case Any:
		return "anything"
	case Text, String:
		return cmp.Or(v.About, "text")
	case Choice:
		quoted := make([]string, len(v.Choices))
		for i, w := range v.Choices {
			quoted[i] = "`" + w + "`"
		}
		return joinOr(quoted)
	case Number, Integer, Size:
		return cmp.Or(v.About, v.boundsText())
	case Boolean:
		return "`true` or `false`"
	case False:
		return "`false`"
	case List:
		return cmp.Or(v.About, "list of "+v.Item.inlineText())
	case MapOf:
		return cmp.Or(v.About, "names, each with "+v.Item.inlineText())
	case Nested:
		return v.inlineText()
	default:
		var all []string
		for _, f := range v.Forms {
			if f.About != hidden {
				all = append(all, f.typeText())
			}
		}
		return strings.Join(all, "; or ")
	}
}

// inlineText describes the value within a sentence; a map is a link.
func (v Value) inlineText() string {
	if v.Type != Nested {
		return v.typeText()
	}
	return "[`" + v.Object.Name + "`](#" + v.Object.Name + ")"
}

func (v Value) boundsText() string {
	name := "number"
	if v.Type == Integer {
		name = "whole number"
	}
	switch {
	case v.Above != nil:
		return fmt.Sprintf("%s above %v", name, *v.Above)
	case v.Least != nil && v.Most != nil && *v.Most < maxCount:
		return fmt.Sprintf("%s from %v to %v", name, *v.Least, *v.Most)
	case v.Least != nil:
		return fmt.Sprintf("%s, at least %v", name, *v.Least)
	default:
		return name
	}
}

// joinOr joins words with commas and or.
func joinOr(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
