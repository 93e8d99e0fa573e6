package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
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

// NewSet opens the workspace and reads the contracts of the tools.
func NewSet(o Options) (*Set, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Redactor == nil {
		o.Redactor = redact.New(cliagent.Environ(o.Environ, o.AddedEnviron))
	}
	if o.ResultTokens <= 0 {
		o.ResultTokens = DefaultResultTokens
	}
	if o.Retry == nil {
		o.Retry = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Allowed == nil {
		o.Allowed = command.DefaultPrograms()
	}
	s := &Set{o: o}
	if err := s.register(); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(o.Root)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	s.environ = command.Environ(o.Environ, o.AddedEnviron, ws, o.Offline)
	s.gitEnviron = command.GitEnviron(s.environ, ws)
	s.rules = command.Rules{Workspace: ws, Allowed: o.Allowed, Path: cliagent.Getenv(s.environ, "PATH"), Offline: o.Offline, Guarded: s.holdsSecrets}
	s.reports = reportSpellings(o.Root, ws.Path(), slices.Concat(o.Reports, o.Readable))
	return s, nil
}

// register reads the contracts of the tools.
func (s *Set) register() error {
	for _, t := range []struct {
		name    string
		prepare func(s *Set, p *PreparedCall, args json.RawMessage) error
	}{
		{"read_file", prepareRead},
		{"write_file", prepareWrite},
		{"modify_file", prepareModify},
		{"delete_file", prepareDelete},
		{"create_directory", prepareDirectory},
		{"list_directory", prepareList},
		{"search_code", prepareSearch},
		{"run_terminal", prepareTerminal},
	} {
		c, err := readContract(t.name)
		if err != nil {
			return err
		}
		if t.name == "run_terminal" {
			c.Description += s.programList()
		}
		s.tools = append(s.tools, registeredTool{contract: c, prepare: t.prepare})
	}
	return nil
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

// canonicalName returns the name of a tool for a name that models use: some request run_command.
func canonicalName(name string) string {
	if name == "run_command" {
		return "run_terminal"
	}
	return name
}

func (s *Set) find(name string) (registeredTool, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return registeredTool{}, invalidArgs(fmt.Errorf("there is no tool %q; there are: %s", head(name, 100), strings.Join(names, ", ")))
}
