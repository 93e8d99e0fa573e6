package loop

import (
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// pendingCall is the i-th call of a reply before its result is recorded.
type pendingCall struct {
	i        int
	refusal  *tool.Refusal    // the call is not made
	resumed  *sdk.ResumedCall // the call was made before a crash
	prepared tool.PreparedCall
	verdict  sdk.Verdict
	result   tool.Result
}

// isExclusive reports whether no other call may run at the same time.
func (a *pendingCall) isExclusive() bool {
	return a.refusal == nil && a.resumed == nil && a.prepared.Effect != sdk.EffectNone
}

// callID returns the id of a call. The id is the same whenever the same reply is processed.
func callID(t *turn, i int) string {
	return fmt.Sprintf("t%d.%d-%s", t.N, i+1, truncate(t.Reply.Calls[i].ID, 80))
}

// exitCode returns the exit code in a result, 0 if the result has none.
func exitCode(result json.RawMessage) int {
	var ended struct {
		ExitCode int `json:"exit_code"`
	}
	_ = json.Unmarshal(result, &ended)
	return ended.ExitCode
}

// errorCode returns the code of an error result, "" for other results.
func errorCode(result json.RawMessage) string {
	var data struct{ Error struct{ Code string } }
	_ = json.Unmarshal(result, &data)
	return data.Error.Code
}

func isWrite(c sdk.Category) bool {
	return c == sdk.CategoryFileWrite || c == sdk.CategoryFileDelete || c == sdk.CategoryDirectoryCreate
}

func progressText(c sdk.ToolCall) string {
	switch {
	case c.Command != "":
		return c.Tool + " " + truncate(c.Command, 120)
	case len(c.Paths) > 0:
		return c.Tool + " " + truncate(c.Paths[0], 120)
	default:
		return c.Tool
	}
}

// replyLine returns a line of JSON about a turn and its usage.
func replyLine(turn int, reply model.Reply) string {
	var calls []string
	for _, c := range reply.Calls {
		calls = append(calls, c.Name)
	}
	line, err := json.Marshal(struct {
		Type  string     `json:"type"`
		Turn  int        `json:"turn"`
		Stop  model.Stop `json:"stop"`
		Calls []string   `json:"calls,omitempty"`
		Usage sdk.Usage  `json:"usage"`
	}{"reply", turn, reply.Stop, calls, reply.Usage})
	if err != nil { // texts and numbers can always be encoded
		panic(err)
	}
	return string(line) + "\n"
}
