package tool

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
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
	// ResultTokens limits a result for the model, at 4 characters per token. Default [DefaultResultTokens].
	ResultTokens int
	// Environ is the plugin's environment, nil for that of the process; commands get it without secrets. AddedEnviron holds
	// the kernel's variables for the agent, which commands get unchanged.
	Environ      []string
	AddedEnviron map[string]string
	// Redactor removes secrets from results. Default: one for the secrets in Environ and AddedEnviron.
	Redactor interface{ Text(text string) string }
	// Offline refuses commands that use the network.
	Offline bool
	// Retry are the pauses before repeats of a command after a temporary failure. Nil is 1, 2, 4 s; empty is never.
	Retry []time.Duration
	// Progress gets a short message about a call that takes longer. May be nil.
	Progress func(message string)
	// Grace is the time between SIGTERM and SIGKILL for a command. Default 5 s.
	Grace time.Duration
	// Protected are further globs (doublestar) of files that a search skips and no command may change.
	Protected []string
}

// Set is the set of tools over one workspace. It is safe for concurrent use; the caller of [NewSet] closes it.
type Set struct {
	o          Options
	ws         *workspace.Dir
	rules      command.Rules
	environ    []string          // for commands
	gitEnviron []string          // for git
	reports    map[string]string // spelling -> the kernel's path
	tools      []registeredTool

	mu       sync.Mutex
	keptKeys map[string]bool // keys of reads whose full result the model still has
}

// registeredTool is a tool with its contract.
type registeredTool struct {
	contract
	prepare func(s *Set, p *PreparedCall, args json.RawMessage) error
}

// programList returns the sentence of run_terminal's description that lists the allowed programs.
func (s *Set) programList() string {
	if len(s.o.Allowed) == 0 {
		return " No program is allowed here."
	}
	return " Allowed programs: " + strings.Join(s.o.Allowed, ", ") + "."
}

// Close releases the workspace. No call may be running.
func (s *Set) Close() error { return s.ws.Close() }

// Definitions returns the tools in a fixed order.
func (s *Set) Definitions() []Definition {
	all := make([]Definition, len(s.tools))
	for i, t := range s.tools {
		all[i] = t.Definition
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
	// ToolCall is the call for the kernel, without CallID and Turn. Tool is the tool's canonical name. Paths are relative to
	// the workspace, without links; those of a report outside it are absolute. Command is in canonical form, without needless
	// quotes and without effect-free options, so that spelling cannot evade a policy's patterns. Preview has no secrets.
	sdk.ToolCall

	set   *Set
	tool  registeredTool
	again bool // the call may have been made already, in part or entirely
	run   func(ctx context.Context) (outcome, error)
}

// outcome is the result of a tool before its encoding.
type outcome struct {
	status  sdk.ToolStatus // "" is success
	data    any
	changed []string
	key     string
}

// maxChars returns the limit of a result, in characters.
func (s *Set) maxChars() int { return s.o.ResultTokens * charsPerToken }

// redactRefusal removes secrets from a refusal's message, which may quote the model or a file.
func (s *Set) redactRefusal(r *Refusal) *Refusal {
	return &Refusal{Status: r.Status, Code: r.Code, Message: s.o.Redactor.Text(r.Message)}
}
