package codex

import "encoding/json"

// The events of codex exec --json, one JSON object per line, with the fields that the provider uses. Commands that fail at
// once may have no item, so the stream is not a complete record of the agent's actions.

// event has the fields of all events.
type event struct {
	ThreadID string `json:"thread_id"` // thread.started
	Item     item   `json:"item"`      // item.started, item.updated, item.completed
	Message  string `json:"message"`   // error
	Usage    *usage `json:"usage"`     // turn.completed
	Error    struct {
		Message string `json:"message"`
	} `json:"error"` // turn.failed
}

// item is a message or an action of the agent. Its id is the same from started to completed.
type item struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Status  string          `json:"status"`  // in_progress, completed, failed, declined
	Text    string          `json:"text"`    // agent_message, reasoning
	Message string          `json:"message"` // error: a warning, nothing has ended
	Command string          `json:"command"` // command_execution
	Output  string          `json:"aggregated_output"`
	Exit    *int            `json:"exit_code"`
	Changes json.RawMessage `json:"changes"` // file_change
	Server  string          `json:"server"`  // mcp_tool_call
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"arguments"`
	Result  json.RawMessage `json:"result"`
	Query   string          `json:"query"` // web_search
}

// usage follows OpenAI's API: cached tokens are part of the input. The counts are sums over the thread.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cached_input_tokens"`
	CacheWrite *int64 `json:"cache_write_input_tokens"`
	Output     *int64 `json:"output_tokens"`
	Reasoning  *int64 `json:"reasoning_output_tokens"`
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
