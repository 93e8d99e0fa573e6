package dialect

import (
	"fmt"
	"strings"
)

// hidden is what a value is called that the reference leaves out.
const hidden = "-"

// Files are the files of the dialect, in the order of the reference.
func Files() []*Object { return []*Object{&Pipeline, &Stage, &Config} }

// Page is the reference: every key of every map, as Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Reference

Every key of a pipeline file, of ` + "`stage.yaml`" + ` and of ` + "`config.yaml`" + `. This page is generated from the tables that the compiler reads by, as the
[schemas for editors](editors.md) are; [pipelines](pipelines.md), [stages](stages.md), [artifacts](artifacts.md), [hooks](hooks.md) and [configuration](configuration.md) explain what it comes to.

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

// headings are what the maps of files are called.
var headings = map[string]string{"pipeline": "A pipeline", "stage": "stage.yaml", "config": "config.yaml"}

func (m *Object) writePage(b *strings.Builder, file bool) {
	level, heading := "###", "`"+m.Name+"`"
	if file {
		level, heading = "##", headings[m.Name]
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", level, heading, m.Doc, m.otherKeysText())
	for _, k := range m.Keys {
		fallback := k.Default
		if k.Required {
			fallback = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, k.Value.typeText(), cell(fallback), cell(k.Doc))
	}
}

// otherKeysText says what becomes of other keys.
func (m *Object) otherKeysText() string {
	switch m.Unknown {
	case Refused:
		return "Another key is an error."
	case RefusedAll:
		return "Another key is an error, even one that begins with `x-`."
	case PassedOn:
		return "Other keys are handed on."
	default:
		return "Another key is ignored, with a warning."
	}
}

// cell is a text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText is what a value may be, in words.
func (v Value) typeText() string {
	if v.About != "" && v.Type != List {
		return cell(v.About)
	}
	switch v.Type {
	case Any:
		return "anything"
	case Text, String:
		return orElse(v.About, "text")
	case Choice:
		quoted := make([]string, len(v.Choices))
		for i, w := range v.Choices {
			quoted[i] = "`" + w + "`"
		}
		return joinOr(quoted)
	case Number, Integer, Size:
		return orElse(v.About, v.boundsText())
	case Boolean:
		return "`true` or `false`"
	case False:
		return "`false`"
	case List:
		return orElse(v.About, "list of "+v.Item.inlineText())
	case MapOf:
		return orElse(v.About, "names, each with "+v.Item.inlineText())
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

// inlineText is the value in the middle of a sentence, a map by its name.
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

// joinOr joins words with or.
func joinOr(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
