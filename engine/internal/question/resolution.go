package question

import (
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// MaxResolution bounds a resolution file, in bytes. At most [event.MaxText] of it reaches the prompts.
const MaxResolution = 64 << 10

// Resolution is the user's answer to an escalation.
type Resolution struct {
	// Abort ends the session; otherwise the run continues.
	Abort bool
	// Context is a text for the next prompts, "" for none; other values than text are rendered as YAML.
	Context string
}

var resolutionKeys = []string{"abort", "context"}

// Parse reads a resolution; file is the name in faults. It is strict: a document that is empty, that has neither abort
// nor context, or that has another key, is a fault. The resolution is valid only without faults.
func Parse(file string, data []byte) (Resolution, yamldoc.Diagnostics) {
	var faults yamldoc.Diagnostics
	d := yamldoc.Document{File: file, Diagnostics: &faults}
	if len(data) > MaxResolution {
		d.Errorf(yamldoc.Pos{Line: 1, Column: 1}, yamldoc.CodeSize, "put long texts into a file of the project and name the file",
			"the file has more than %d bytes", MaxResolution)
		return Resolution{}, faults
	}
	root, ok := d.Parse(data)
	if !ok || len(faults) > 0 {
		return Resolution{}, faults.Sorted()
	}
	r := read(d, root)
	return r, faults.Sorted()
}

// ReadFrom reads a resolution that Parse accepts. The error is a [yamldoc.Diagnostics] if it has faults.
func ReadFrom(file string, from io.Reader) (Resolution, error) {
	data, err := io.ReadAll(io.LimitReader(from, MaxResolution+1))
	if err != nil {
		return Resolution{}, fmt.Errorf("read %s: %w", file, err)
	}
	r, faults := Parse(file, data)
	if len(faults) > 0 {
		return Resolution{}, faults
	}
	return r, nil
}

// Answer returns the answer and the text that a resolution gives to a question.
func (r Resolution) Answer() (answer, text string) {
	if r.Abort {
		return event.AnswerReject, ""
	}
	return event.AnswerApprove, r.Context
}

const wanted = "write abort: true or false, and context: a text for the next prompts"

func read(d yamldoc.Document, root *yamldoc.Node) (r Resolution) {
	switch {
	case root == nil:
		d.Errorf(yamldoc.Pos{Line: 1, Column: 1}, yamldoc.CodeRead, wanted, "the resolution is empty")
		return r
	case root.Kind != yamldoc.Map:
		d.Errorf(root.Pos, yamldoc.CodeType, wanted, "a resolution must be a map, not %s", root.Kind)
		return r
	case len(root.Entries) == 0:
		d.Errorf(root.Pos, yamldoc.CodeMissing, wanted, "the resolution has neither abort nor context")
		return r
	}
	for _, e := range root.Entries {
		switch e.Key {
		case "abort":
			if e.Value.Kind != yamldoc.Bool {
				d.Errorf(e.Value.Pos, yamldoc.CodeType, "", "abort must be true or false, not %s", e.Value.Kind)
				continue
			}
			r.Abort, _ = e.Value.Any().(bool)
		case "context":
			r.Context = words(d, e.Value)
		default:
			hint := "the keys are abort and context"
			if near := nearest.Name(e.Key, resolutionKeys); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			d.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, hint, "unknown key %q in a resolution", e.Key)
		}
	}
	return r
}

// words returns the text for the next prompts.
func words(d yamldoc.Document, n *yamldoc.Node) string {
	var text string
	switch v := n.Any().(type) {
	case nil:
		return ""
	case string:
		text = v
	default:
		b, err := yamlwrite.RenderValue(v)
		if err != nil {
			d.Errorf(n.Pos, yamldoc.CodeUnsupported, "", "the context cannot be read: %v", err)
			return ""
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	if len(text) > event.MaxText {
		d.Errorf(n.Pos, yamldoc.CodeSize, "put it into a file of the project and name the file", "the context has %d bytes, more than %d", len(text), event.MaxText)
	}
	return text
}
