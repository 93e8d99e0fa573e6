package stubmodel

import (
	"errors"
	"fmt"
	"regexp"
)

// Expect is the required content of a request. Every text is a regular expression that may match anywhere; an empty one
// requires nothing. A {{name}} in it means the literal value of the variable.
type Expect struct {
	// Model is the name of the requested model.
	Model string `json:"model,omitempty"`
	// System is the system prompt, with the developer's messages where an API has them.
	System string `json:"system,omitempty"`
	// Prompt is all text of the user, the blocks joined by newlines, without tool results.
	Prompt string `json:"prompt,omitempty"`
	// ToolResult is the text of the tool results after the model's last message.
	ToolResult string `json:"tool_result,omitempty"`
	// ToolError requires that one of these tools failed (true) or none (false); nil requires nothing. Only the Messages
	// API reports failures of tools.
	ToolError *bool `json:"tool_error,omitempty"`
	// Body is the whole unchanged request.
	Body string `json:"body,omitempty"`
}

// demand is one pattern of an expectation and the text that must match it.
type demand struct {
	subject, pattern, text string
}

func (e *Expect) demands(in inbound) []demand {
	return []demand{
		{"model", e.Model, in.model},
		{"system", e.System, in.system},
		{"prompt", e.Prompt, in.prompt},
		{"tool_result", e.ToolResult, in.toolResult},
		{"body", e.Body, string(in.body)},
	}
}

// check returns the joined faults of a request. A nil expectation accepts every request.
func (e *Expect) check(in inbound, values map[string]string) error {
	if e == nil {
		return nil
	}
	var faults []error
	for _, d := range e.demands(in) {
		if err := d.check(values); err != nil {
			faults = append(faults, fmt.Errorf("expected %s: %w", d.subject, err))
		}
	}
	if err := e.checkToolError(in); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func (e *Expect) checkToolError(in inbound) error {
	switch {
	case e.ToolError == nil:
		return nil
	case in.toolError == nil:
		return fmt.Errorf("expected tool_error: %t: this API does not say whether a tool failed; use tool_result", *e.ToolError)
	case *e.ToolError != *in.toolError:
		return fmt.Errorf("expected tool_error: %t: got %t: %s", *e.ToolError, *in.toolError, excerpt(in.toolResult))
	default:
		return nil
	}
}

func (d demand) check(values map[string]string) error {
	pattern, err := replace(d.pattern, values, regexp.QuoteMeta)
	if err != nil {
		return err
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	if !compiled.MatchString(d.text) {
		return fmt.Errorf("nothing like %q in %s", pattern, excerpt(d.text))
	}
	return nil
}

// excerpt quotes both ends of a text for an error message: agents put their own text before the
// user's.
func excerpt(text string) string {
	const end = 150
	if len(text) <= 2*end {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q, %d bytes more, %q", text[:end], len(text)-2*end, text[len(text)-end:])
}

// inbound is a request, independent of its API.
type inbound struct {
	body        []byte
	model       string
	system      string
	prompt      string // the user's text blocks, joined by newlines
	toolResult  string // the results after the model's last message, joined by newlines
	toolError   *bool  // whether one of these tools failed; nil if the API does not report it
	offersTools bool
	stream      bool
	streamUsage bool // the client requests the usage of a stream; unused by APIs that always send it
}
