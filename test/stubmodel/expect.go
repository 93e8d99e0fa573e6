package stubmodel

import (
	"errors"
	"fmt"
	"regexp"
)

// Expect says what a request must contain for its turn to be given. Every text is a regular
// expression, looked for anywhere; empty demands nothing. A {{name}} in it stands for the literal
// value of the variable.
type Expect struct {
	// Model is the model's name as the service is asked for it.
	Model string `json:"model,omitempty"`
	// System is the system prompt, with the developer's messages where an API has them.
	System string `json:"system,omitempty"`
	// Prompt is all text of the user, the blocks joined by newlines, without tool results.
	Prompt string `json:"prompt,omitempty"`
	// ToolResult is the text of the tool results that came after the model's last word.
	ToolResult string `json:"tool_result,omitempty"`
	// ToolError demands that one of them failed (true) or none (false). Messages API only: the others
	// do not say it.
	ToolError *bool `json:"tool_error,omitempty"`
	// Body is the whole request as it came.
	Body string `json:"body,omitempty"`
}

// demand is one pattern of an expectation and the text that it is about.
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

// check reports all that the request lacks, joined. A nil expectation is content.
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

// inbound is a request, whatever its API.
type inbound struct {
	body        []byte
	model       string
	system      string
	prompt      string // the user's text blocks, joined by newlines
	toolResult  string // the results after the model's last message, joined by newlines
	toolError   *bool  // one of them failed; nil when the API has no word for that
	offersTools bool
	stream      bool
	streamUsage bool // the client wants the usage of a stream; where it is always sent, unused
}
