package mcpserve

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// metaFault is the key in a result's metadata under which programs find its error.
const metaFault = "agent-pipelines/error"

// printedError is the error that the command printed.
type printedError struct{ fault json.RawMessage }

func (e *printedError) Error() string { return words(e.fault) }

// refusal returns the result of a failed call: the error as text for the model, and as JSON under metaFault.
func refusal(err error) *mcp.CallToolResult {
	fault := faultJSON(err)
	r := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: clipped(words(fault))}}}
	r.Meta = mcp.Meta{metaFault: fault}
	return r
}

func faultJSON(err error) json.RawMessage {
	var printed *printedError
	if errors.As(err, &printed) {
		return printed.fault
	}
	text, err := json.Marshal(cli.NewFault(err).WithoutSecrets())
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}

// words returns a fault as text for a model: the error, its position, its remedy, and the code,
// which is stable.
func words(fault json.RawMessage) string {
	var f struct {
		cli.Fault
		Diagnostics []struct {
			File    string `json:"file"`
			Line    int    `json:"line"`
			Column  int    `json:"column"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
			Code    string `json:"code"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(fault, &f); err != nil || f.Message == "" {
		return string(fault)
	}
	var text strings.Builder
	fmt.Fprintln(&text, f.Message)
	for _, d := range f.Diagnostics {
		fmt.Fprintf(&text, "%s:%d:%d: %s (%s)\n", d.File, d.Line, d.Column, d.Message, d.Code)
		if d.Hint != "" {
			fmt.Fprintln(&text, "  "+d.Hint)
		}
	}
	if f.Hint != "" {
		fmt.Fprintln(&text, "What to do: "+f.Hint)
	}
	if f.Detail != "" {
		fmt.Fprintln(&text, f.Detail)
	}
	code := f.ErrorType
	if f.Code != "" {
		code = f.Code + " (" + f.ErrorType + ")"
	}
	fmt.Fprint(&text, "code: "+code)
	return text.String()
}
