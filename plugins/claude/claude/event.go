package claude

import "encoding/json"

// The events of --output-format stream-json, one JSON object per line, with the fields that the provider uses.

// eventHead has the fields of all events.
type eventHead struct {
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
}

// initEvent is system/init, the first event.
type initEvent struct {
	Model   string `json:"model"`
	Version string `json:"claude_code_version"`
}

// retryEvent is system/api_retry: the command line retries a failed request.
type retryEvent struct {
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  int     `json:"error_status"`
	Error        string  `json:"error"`
}

// rateLimitEvent reports a change in the state of a subscription's limit.
type rateLimitEvent struct {
	Info rateLimit `json:"rate_limit_info"`
}

type rateLimit struct {
	Status   string `json:"status"`   // allowed, allowed_warning, rejected
	ResetsAt int64  `json:"resetsAt"` // Unix seconds
}

// deniedEvent is system/permission_denied: a tool call was refused.
type deniedEvent struct {
	ToolUseID string `json:"tool_use_id"`
}

// messageEvent is an assistant or user event. An assistant event carries one content block; the events of one reply
// share the message's id.
type messageEvent struct {
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"` // a string, or an array of blocks
		Usage   *usage          `json:"usage"`
	} `json:"message"`
	ParentToolUseID string `json:"parent_tool_use_id"` // set for messages of sub-agents
	Error           string `json:"error"`              // a class of errors; the content is then the error's message
}

// block is one block of a message's content.
type block struct {
	Type      string          `json:"type"` // text, thinking, tool_use, tool_result
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// resultEvent is the last event of the agent.
type resultEvent struct {
	Subtype           string               `json:"subtype"` // success, error_max_turns, error_max_budget_usd, error_during_execution
	IsError           bool                 `json:"is_error"`
	APIErrorStatus    int                  `json:"api_error_status"`
	APIError          string               `json:"api_error"`
	APIErrorType      string               `json:"api_error_type"` // error.type of the API's answer
	StopReason        string               `json:"stop_reason"`    // of the model's last message
	Result            string               `json:"result"`
	Errors            []string             `json:"errors"`
	TerminalReason    string               `json:"terminal_reason"`
	TotalCostUSD      *float64             `json:"total_cost_usd"`
	PermissionDenials []denial             `json:"permission_denials"`
	Usage             *usage               `json:"usage"`
	ModelUsage        map[string]modelCost `json:"modelUsage"`
}

// denial is a refused tool call.
type denial struct {
	ToolName string `json:"tool_name"`
}

// modelCost is the usage of one model in the whole run, including sub-agents.
type modelCost struct {
	CostUSD          float64 `json:"costUSD"`
	InputTokens      int64   `json:"inputTokens"`
	OutputTokens     int64   `json:"outputTokens"`
	CacheReadTokens  int64   `json:"cacheReadInputTokens"`
	CacheWriteTokens int64   `json:"cacheCreationInputTokens"`
}

// usage follows Anthropic's API: cache reads and writes are not part of the input.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Output     *int64 `json:"output_tokens"`
	Details    *struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON treats an unreadable usage as unknown, not as zero.
func (u *usage) UnmarshalJSON(raw []byte) error {
	type plain usage
	var p plain
	if json.Unmarshal(raw, &p) == nil {
		*u = usage(p)
	}
	return nil
}
