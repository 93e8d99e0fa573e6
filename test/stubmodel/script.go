package stubmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// Script holds the server's answers, turn by turn.
type Script struct {
	// Vars are the texts that replace {{name}} in every string of the turns. Replaced text is not expanded again, so a
	// variable may hold literal braces.
	Vars map[string]string `json:"vars,omitempty"`
	// Captures are variables from the current request. Each is a regular expression with one group, matched against the
	// user's text and, without a match there, against the last tool results. So an answer can name a path that only the
	// prompt contains, or the output of a command. If a turn needs a capture that did not match, that is a fault.
	Captures map[string]string `json:"captures,omitempty"`
	// Turns are the answers, in order. At least one is required.
	Turns []Turn `json:"turns"`
	// Side answers side requests, which use up no turn. Those requests offer no tools, for example to get a title, or
	// they match SideRE. Default: the text "ok".
	Side *Turn `json:"side,omitempty"`
	// SideRE is a regular expression for the whole request body. Empty matches nothing.
	SideRE string `json:"side_re,omitempty"`
	// After selects the answers after the last turn. Default: [AfterLast].
	After After `json:"after,omitempty"`
}

// After selects a script's answers when its turns are used up.
type After string

// AfterLast repeats the last turn with its expectation. AfterError answers 400 and records a fault.
const (
	AfterLast  After = "last"
	AfterError After = "error"
)

// Turn is one answer. With none of Status, MidStream, CutAfter and Hang it is a complete message.
type Turn struct {
	// Expect is the required content of the request, nil for any content. A request without that content is answered
	// 400 and recorded with a fault, and does not use up the turn.
	Expect *Expect `json:"expect,omitempty"`

	// Thinking, Text and ToolCalls are the message, in this order. Empty parts are left out.
	Thinking  string     `json:"thinking,omitempty"`
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// StopReason is a stop reason of the API. Default: the API's reason for the end of a turn, or for tool calls. The
	// Responses API ignores it.
	StopReason string `json:"stop_reason,omitempty"`
	// Usage is reported unchanged.
	Usage Usage `json:"usage,omitzero"`

	// Times is the number of requests that this turn answers. Default: 1.
	Times uint `json:"times,omitempty"`
	// Headers are added to the answer.
	Headers map[string]string `json:"headers,omitempty"`

	// Status, from 400 to 599, makes the answer an error of the service. Default: 200.
	Status int `json:"status,omitempty"`
	// ErrorType is the API's type of the error, by default the type for the status. ErrorMessage is its text, by
	// default "scripted error". Both also describe a MidStream error.
	ErrorType    string `json:"error_type,omitempty"`
	ErrorMessage string `json:"error_message,omitempty"`
	// MidStream breaks off a stream with an error event after CutAfter events. A request without a stream is answered
	// by the same error with status 500.
	MidStream bool `json:"mid_stream,omitempty"`
	// CutAfter without MidStream closes the connection after this number of events. Without a stream it closes the
	// connection in the middle of the body.
	CutAfter uint `json:"cut_after,omitempty"`
	// Hang sends the headers and then nothing until the client goes or the server is closed.
	Hang bool `json:"hang,omitempty"`
}

// ToolCall requests that the agent runs one of its tools.
type ToolCall struct {
	// Name is the agent's own name of the tool.
	Name string `json:"name"`
	// Input is the tool's argument, a value that becomes a JSON object; nil is {}.
	Input any `json:"input,omitempty"`
	// Raw is sent unchanged instead of Input: the text for a custom tool, or arguments that are not JSON. The
	// Messages API can send invalid JSON in a stream only.
	Raw string `json:"raw,omitempty"`
	// Custom makes the call one of a tool with free text instead of arguments. Only the Responses API has such tools.
	// The other APIs then send Raw as the arguments.
	Custom bool `json:"custom,omitempty"`
}

// Usage counts tokens. Input does not include the two cache counts, Output includes Reasoning. The OpenAI APIs report
// the sum of Input and the two cache counts as their input.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// allInput returns all input tokens, including those read from or written to the cache.
func (u Usage) allInput() int { return u.Input + u.CacheRead + u.CacheWrite }

// Parse reads the JSON form of a script. Unknown keys are errors.
func Parse(text []byte) (Script, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var script Script
	if err := decoder.Decode(&script); err != nil {
		return Script{}, fmt.Errorf("parse script: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("parse script: text after the end of the object")
	}
	return script, nil
}

// program is a script with compiled patterns. It does not change.
type program struct {
	Script
	side     Turn
	sideRE   *regexp.Regexp // nil: no pattern
	captures map[string]*regexp.Regexp
}

func compile(script Script) (*program, error) {
	p := &program{Script: script, side: Turn{Text: "ok"}, captures: map[string]*regexp.Regexp{}}
	var faults []error
	fault := func(where string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("script: %s: %w", where, err))
		}
	}
	if len(script.Turns) == 0 {
		fault("turns", errors.New("at least one is needed"))
	}
	if script.After != "" && script.After != AfterLast && script.After != AfterError {
		fault("after", fmt.Errorf("%q is neither %q nor %q", script.After, AfterLast, AfterError))
	}
	if script.SideRE != "" {
		var err error
		p.sideRE, err = regexp.Compile(script.SideRE)
		fault("side_re", err)
	}
	for name, pattern := range script.Captures {
		var err error
		p.captures[name], err = compileCapture(pattern)
		fault("captures."+name, err)
	}
	if script.Side != nil {
		p.side = *script.Side
	}
	return p, errors.Join(faults...)
}

func compileCapture(pattern string) (*regexp.Regexp, error) {
	compiled, err := regexp.Compile(pattern)
	if err == nil && compiled.NumSubexp() != 1 {
		err = fmt.Errorf("pattern %q needs exactly one group", pattern)
	}
	return compiled, err
}

// input returns the input of a call: JSON text, or the text for a custom tool.
func (c ToolCall) input() string {
	switch {
	case c.Raw != "" || c.Custom:
		return c.Raw
	case c.Input == nil:
		return "{}"
	default:
		return string(mustMarshal(c.Input))
	}
}
