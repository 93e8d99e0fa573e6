package mock

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Record is one line of a record file: the request as received. It holds only the names of the environment's variables,
// because their values may be secret.
type Record struct {
	Key         string          `json:"key"`
	Epoch       int             `json:"epoch"`
	Session     string          `json:"session"`
	Node        string          `json:"node"`
	Stage       string          `json:"stage"`
	Iteration   int             `json:"iteration"`
	Attempt     int             `json:"attempt"`
	Visit       int             `json:"visit"`
	Step        string          `json:"step,omitempty"`
	Purpose     sdk.Purpose     `json:"purpose"`
	Prompt      string          `json:"prompt"`
	Model       string          `json:"model"`
	Config      json.RawMessage `json:"config,omitempty"`
	WorkDir     string          `json:"work_dir"`
	Environment []string        `json:"environment,omitempty"`
	Paths       sdk.Paths       `json:"paths"`
	TimeoutMS   int64           `json:"timeout_ms,omitempty"`
	IdleMS      int64           `json:"idle_timeout_ms,omitempty"`
	Resume      *RecordedResume `json:"resume,omitempty"`
	Budget      *sdk.Budget     `json:"budget,omitempty"`
	Mode        sdk.Mode        `json:"mode,omitempty"`
	Tools       *RecordedTools  `json:"tools,omitempty"`
	MaxTurns    int             `json:"max_turns,omitempty"`
	StepItem    json.RawMessage `json:"step_item,omitempty"`
	PID         int             `json:"pid"`
}

// RecordedTools are the limits of the agent's tools.
type RecordedTools struct {
	AllowedCommands  []string `json:"allowed_commands"` // null: the provider's default
	CommandTimeoutMS int64    `json:"command_timeout_ms,omitempty"`
	MaxResultTokens  int      `json:"max_result_tokens,omitempty"`
}

// RecordedResume is the saved state of a resumed attempt.
type RecordedResume struct {
	Turn  int            `json:"turn"`
	Blob  string         `json:"blob"`
	Calls []RecordedCall `json:"calls"`
}

// RecordedCall is a tool call of a resumed attempt; Finished is true if its result is known.
type RecordedCall struct {
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	Finished bool   `json:"finished"`
}

// recordRequest appends the request to the files.
func recordRequest(req sdk.ExecuteRequest, files []string) error {
	if len(files) == 0 {
		return nil
	}
	line, err := json.Marshal(newRecord(req))
	if err != nil {
		return fmt.Errorf("mock: record request: %w", err)
	}
	for _, file := range files {
		if err := appendLine(file, string(line)); err != nil {
			return err
		}
	}
	return nil
}

func newRecord(req sdk.ExecuteRequest) Record {
	r := Record{
		Key: req.Key, Epoch: req.Epoch, Session: req.Session, Node: req.Node, Stage: req.Stage,
		Iteration: req.Iteration, Attempt: req.Attempt, Visit: req.Visit, Step: stepID(req),
		Purpose: req.Purpose, Prompt: req.Prompt, Model: req.Model, Config: req.Config, WorkDir: req.WorkDir,
		Environment: slices.Sorted(maps.Keys(req.Environment)),
		Paths:       req.Paths, Budget: req.Budget,
		Mode: req.Mode, MaxTurns: req.MaxTurns, StepItem: req.Step,
		TimeoutMS: req.Timeout.Milliseconds(), IdleMS: req.IdleTimeout.Milliseconds(),
		PID: os.Getpid(),
	}
	if t := req.Tools; t.AllowedCommands != nil || t.CommandTimeout > 0 || t.MaxResultTokens > 0 {
		r.Tools = &RecordedTools{AllowedCommands: t.AllowedCommands, CommandTimeoutMS: t.CommandTimeout.Milliseconds(), MaxResultTokens: t.MaxResultTokens}
	}
	if req.Resume != nil {
		r.Resume = &RecordedResume{Turn: req.Resume.Checkpoint.Turn, Blob: string(req.Resume.Checkpoint.Blob), Calls: []RecordedCall{}}
		for _, c := range req.Resume.Calls {
			r.Resume.Calls = append(r.Resume.Calls, RecordedCall{CallID: c.Call.CallID, Tool: c.Call.Tool, Finished: c.Result != nil})
		}
	}
	return r
}

// appendLine appends a line to a file in one write, so that concurrent lines stay whole.
func appendLine(path, line string) error {
	return appendText(path, line+"\n")
}

func appendText(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("mock: %w", err)
	}
	_, writeErr := f.WriteString(text)
	if err := f.Close(); writeErr == nil {
		writeErr = err
	}
	if writeErr != nil {
		return fmt.Errorf("mock: append to %s: %w", path, writeErr)
	}
	return nil
}
