package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U153: the last call of the tool that was not refused delivers the artifact. Calls end in any order.
func TestHandover(t *testing.T) {
	for _, tt := range []struct{ name, tool, calls, want string }{
		{"one", "s", "a! a+", "a"},
		{"the last", "s", "a! a+ b! b+", "b"},
		{"the last that succeeded", "s", "a! a+ b! b-", "a"},
		{"side by side", "s", "a! b! b+ a+", "b"},
		{"the last of them fails", "s", "a! b! c! a+ c- b+", "b"},
		{"all of them fail", "s", "a! b! a- b-", ""},
		{"no end is known", "s", "a! a+ b!", "b"},
		{"asked for again after a crash", "s", "a! b! a!", "a"},
		{"as many as are remembered", "s", "a! b! c! d! e! f! g! h! h- g- f- e- d- c- b-", "a"},
		{"one more", "s", "a! b! c! d! e! f! g! h! i! i- h- g- f- e- d- c- b-", ""},
		{"none", "s", "x+ x-", ""},
		{"another tool", "other", "a! a+", ""},
		{"no tool", "", "a! a+", ""},
	} {
		h := &callTracker{artifactTool: tt.tool}
		for word := range strings.FieldsSeq(tt.calls) {
			switch id := word[:1]; word[1] {
			case '!':
				h.addArtifact(sdk.ToolCall{CallID: id, Tool: "s", Args: json.RawMessage(id)})
			case '+':
				h.finishArtifact(sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess})
			default:
				h.finishArtifact(sdk.ToolResult{CallID: id, Status: sdk.ToolDenied})
			}
		}
		args, _ := h.artifactArgs()
		if got := string(args); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
