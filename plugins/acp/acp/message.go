package acp

import (
	"cmp"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"

	protocol "github.com/coder/acp-go-sdk"
)

// Messages of agents, with the fields that the provider uses. Messages to agents use the types of the ACP SDK. Decoding
// is lenient: a field of an unexpected type is skipped, and the other fields are used.

// initializeResult is the answer to initialize.
type initializeResult struct {
	ProtocolVersion int          `json:"protocolVersion"`
	Capabilities    capabilities `json:"agentCapabilities"`
	Agent           struct {
		Version string `json:"version"`
	} `json:"agentInfo"`
}

// capabilities are the optional capabilities of an agent.
type capabilities struct {
	Load     bool `json:"loadSession"`
	Sessions struct {
		Resume *struct{} `json:"resume"`
	} `json:"sessionCapabilities"`
}

// sessionInfo is the answer to session/new, session/load and session/resume.
type sessionInfo struct {
	ID      protocol.SessionId `json:"sessionId"`
	Options []option           `json:"configOptions"`
	Modes   *modes             `json:"modes"`
}

// option is a setting of the session with a list of values, or a switch.
type option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"` // a text, or true or false
	Values   []optionValue   `json:"options"`
}

// optionValue is a value, or a group of values.
type optionValue struct {
	Value string        `json:"value"`
	Group []optionValue `json:"options"`
}

type modes struct {
	Current   string `json:"currentModeId"`
	Available []struct {
		ID string `json:"id"`
	} `json:"availableModes"`
}

// turnEnd is the answer to session/prompt.
type turnEnd struct {
	Reason protocol.StopReason `json:"stopReason"`
	Usage  *tokens             `json:"usage"`
	Meta   struct {
		Quota struct {
			Tokens *tokens      `json:"token_count"`
			Models []modelUsage `json:"model_usage"`
		} `json:"quota"`
	} `json:"_meta"`
}

type modelUsage struct {
	Model  string  `json:"model"`
	Tokens *tokens `json:"token_count"`
}

// tokens has the counts under two sets of names: the protocol's, and input_tokens and output_tokens in _meta.quota.
// Cache reads and writes are not part of the input.
type tokens struct {
	Input       *int64 `json:"inputTokens"`
	Output      *int64 `json:"outputTokens"`
	CacheRead   *int64 `json:"cachedReadTokens"`
	CacheWrite  *int64 `json:"cachedWriteTokens"`
	Thought     *int64 `json:"thoughtTokens"`
	InputSnake  *int64 `json:"input_tokens"`
	OutputSnake *int64 `json:"output_tokens"`
}

// contentChunk is a piece of a message or of a thought.
type contentChunk struct {
	MessageID string `json:"messageId"`
	Content   struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// usageUpdate reports the use of the context, and sometimes the cost of the session.
type usageUpdate struct {
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// toolUpdate announces a tool call, changes its state, or is part of a request for permission.
type toolUpdate struct {
	ToolCallID string            `json:"toolCallId"`
	Name       string            `json:"name"`
	Title      string            `json:"title"`
	Kind       protocol.ToolKind `json:"kind"`
	Status     string            `json:"status"`
	RawInput   json.RawMessage   `json:"rawInput"`
	RawOutput  json.RawMessage   `json:"rawOutput"`
	Content    []toolContent     `json:"content"`
	Locations  []location        `json:"locations"`
	Meta       struct {
		ClaudeCode struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

// toolContent is a text, the change of a file, or a reference to a terminal.
type toolContent struct {
	Type    string  `json:"type"` // content, diff, terminal
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
}

type location struct {
	Path string `json:"path"`
}

// addTo returns a new usage with the tokens of one more turn added. Counts that are unknown in both stay unknown.
func (t tokens) addTo(sum *sdk.Usage) *sdk.Usage {
	if sum == nil {
		sum = &sdk.Usage{}
	}
	return &sdk.Usage{
		InputTokens:      cliagent.AddCounts(sum.InputTokens, cmp.Or(t.Input, t.InputSnake)),
		OutputTokens:     cliagent.AddCounts(sum.OutputTokens, cmp.Or(t.Output, t.OutputSnake)),
		CacheReadTokens:  cliagent.AddCounts(sum.CacheReadTokens, t.CacheRead),
		CacheWriteTokens: cliagent.AddCounts(sum.CacheWriteTokens, t.CacheWrite),
		ReasoningTokens:  cliagent.AddCounts(sum.ReasoningTokens, t.Thought),
	}
}
