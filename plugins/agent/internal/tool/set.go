package tool

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Defaults of [Options], and limits (REQUIREMENTS C6, K26, U183).
const (
	DefaultTimeout      = 300 * time.Second
	MaxTimeout          = time.Hour
	DefaultResultTokens = 10_000
	maxContent          = 1 << 20  // bytes of content that is written
	maxFile             = 10 << 20 // bytes of a file that is read
)

// Options configure the tools.
type Options struct {
	// Root is the workspace, absolute.
	Root string
	// Reports are the absolute paths of the kernel's report files. They may be read and written, even outside the workspace.
	// Empty entries are ignored.
	Reports []string
	// Readable are absolute paths of further files that may only be read.
	Readable []string
	// Allowed are the programs that may run; nil is [command.DefaultPrograms], empty allows none.
	Allowed []string
	// Timeout is the limit and the default of a command's time. Default [DefaultTimeout]; the model may then ask for up to
	// [MaxTimeout].
	Timeout time.Duration
	// ResultTokens limits a result for the model, at 4 bytes per token. Default [DefaultResultTokens].
	ResultTokens int
	// Environ is the plugin's environment; commands get it without secrets. AddedEnviron holds the kernel's variables for
	// the agent; commands get all of them.
	Environ      []string
	AddedEnviron map[string]string
	// Redactor removes secrets from results, previews and refusals.
	Redactor *redact.Redactor
	// Offline refuses commands that use the network.
	Offline bool
	// Retry are the pauses before repeats of a command after a temporary failure.
	Retry []time.Duration
	// Progress receives a short message before a command is repeated. Required with Retry.
	Progress func(message string)
	// Grace is the time between SIGTERM and SIGKILL for a command. Default 5 s.
	Grace time.Duration
	// Protected are further globs (doublestar) of files that a search skips and no command may change.
	Protected []string
	// ReadOnly lets commands write no file of the workspace, except git in its repository.
	ReadOnly bool
}

// Set is the set of tools over one workspace. It is safe for concurrent use; the caller of [NewSet] closes it.
type Set struct {
	o          Options
	ws         *workspace.Dir
	rules      command.Rules
	environ    []string           // for commands
	gitEnviron []string           // for git
	reports    map[string]fileRef // by spelling
	tools      []tool

	mu       sync.Mutex
	keptKeys map[string]bool // keys of reads whose full result the model still has
}

// tool is a tool as the model knows it, with the schemas of its parameters and result.
type tool struct {
	model.Tool
	parameters, result *schema.Schema
	arguments          func() arguments
}

// arguments are the decoded arguments of a call. They fit the tool's schema.
type arguments interface {
	// prepare checks the arguments and completes the call.
	prepare(s *Set, p *PreparedCall) error
}

// Close releases the workspace. No call may be running.
func (s *Set) Close() error { return s.ws.Close() }

// Definitions returns the tools in a fixed order.
func (s *Set) Definitions() []model.Tool {
	var all []model.Tool
	for _, t := range s.tools {
		all = append(all, t.Tool)
	}
	return all
}

// Keep sets the earlier reads whose full result the model still has, by [Result.Key]. Repeating such a read of unchanged
// content returns "unchanged". Initially there are none.
func (s *Set) Keep(keys []string) {
	known := make(map[string]bool, len(keys))
	for _, key := range keys {
		known[key] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptKeys = known
}

func (s *Set) isKept(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keptKeys[key]
}

// PreparedCall is a checked call that may be made once it is allowed.
type PreparedCall struct {
	// ToolCall is the call for the kernel, without CallID and Turn. Tool is the tool's canonical name. Paths are relative
	// to the workspace, without links, or absolute for a report outside. Command is in canonical form, without needless
	// quotes and without effect-free options, so that spelling cannot evade a policy's patterns. Preview has no secrets.
	sdk.ToolCall
	// Run makes the call. It repeats the checks that may have a new answer. Cancelling the context ends the call; the output
	// of a command until then is kept. Run may be called once.
	Run func(context.Context) Result

	again bool // the call may have been made already, in part or entirely
	run   func(context.Context) (outcome, error)
}

// Result is the result of a call.
type Result struct {
	Status sdk.ToolStatus
	// Data is the tool's result, which fits its schema, or {"error": {"code", "message"}}. It has no secrets.
	Data json.RawMessage
	// Changed are the files and directories that were created, changed or deleted, as in [PreparedCall.Paths].
	Changed []string
	// Key identifies the content that was read, for [Set.Keep]. It is empty except for read_file.
	Key string
}

// outcome is the result of a tool before its encoding.
type outcome struct {
	status  sdk.ToolStatus // "" is success
	data    any
	changed []string
	key     string
}

// maxBytes returns the limit of a result, in bytes.
func (s *Set) maxBytes() int { return s.o.ResultTokens * bytesPerToken }
