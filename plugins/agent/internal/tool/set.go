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
	maxContent          = 1 << 20  // bytes that are written
	maxFile             = 10 << 20 // bytes of a file that is read
)

// Options say where and within which limits the tools work.
type Options struct {
	// Root is the workspace, absolute.
	Root string
	// Reports are absolute files that the kernel named for the agent's own reports. They may be read and written
	// although they may lie outside the workspace. Empty entries are ignored.
	Reports []string
	// Readable are absolute files of that kind that may be read alone.
	Readable []string
	// Allowed are the programs that may be run; nil is [command.Default], empty allows none.
	Allowed []string
	// Timeout bounds a command, and is what it gets where the model asks for no less. Default [DefaultTimeout]; the
	// model may then ask for up to [MaxTimeout].
	Timeout time.Duration
	// ResultTokens bounds a result as the model sees it, at 4 characters a token. Default [DefaultResultTokens].
	ResultTokens int
	// Environ is the plugin's environment, nil for that of the process; commands get it without secrets. Given is what
	// the kernel named for the agent, which they get as it is.
	Environ []string
	Given   map[string]string
	// Redactor takes secrets out of results. Nil knows those of Environ and Given.
	Redactor interface{ Text(text string) string }
	// Offline refuses commands that fetch from the network.
	Offline bool
	// Retry are the pauses before a command is run again after a passing failure. Nil is 1, 2, 4 s; empty is never.
	Retry []time.Duration
	// Progress is told in a few words what a call that takes longer does. May be nil.
	Progress func(message string)
	// Grace is the time between the polite and the final signal to a command. Default 5 s.
	Grace time.Duration
	// Protected are further globs (doublestar) of files that a search leaves out.
	Protected []string
}

// Set is the tools over one workspace. It is safe for concurrent use; who made it closes it.
type Set struct {
	o       Options
	ws      *workspace.Dir
	rules   command.Rules
	environ []string          // for commands
	forGit  []string          // for git
	reports map[string]string // spelling -> the file as the kernel named it
	tools   []registered

	mu    sync.Mutex
	known map[string]bool // keys of reads that the model still sees in full
}

// registered is a tool with its contract.
type registered struct {
	contract
	prepare func(s *Set, p *Prepared, args json.RawMessage) error
}

// NewSet opens the workspace.
func NewSet(o Options) (*Set, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Redactor == nil {
		o.Redactor = redact.New(cliagent.Environ(o.Environ, o.Given))
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
		o.Allowed = command.Default()
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
	s.environ = command.Environ(o.Environ, o.Given, ws, o.Offline)
	s.forGit = command.ForGit(s.environ, ws)
	s.rules = command.Rules{Workspace: ws, Allowed: o.Allowed, Path: cliagent.Getenv(s.environ, "PATH"), Offline: o.Offline, Guarded: s.guarded}
	s.reports = reportSpellings(o.Root, ws.Path(), slices.Concat(o.Reports, o.Readable))
	return s, nil
}

// register reads the contracts.
func (s *Set) register() error {
	for _, t := range []struct {
		name    string
		prepare func(s *Set, p *Prepared, args json.RawMessage) error
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
			c.Description += s.programs()
		}
		s.tools = append(s.tools, registered{contract: c, prepare: t.prepare})
	}
	return nil
}

// programs says in the description what may be run.
func (s *Set) programs() string {
	if len(s.o.Allowed) == 0 {
		return " No program is allowed here."
	}
	return " Allowed programs: " + strings.Join(s.o.Allowed, ", ") + "."
}

// Close releases the workspace. No call may be running.
func (s *Set) Close() error { return s.ws.Close() }

// Definitions are the tools in a fixed order.
func (s *Set) Definitions() []Definition {
	all := make([]Definition, len(s.tools))
	for i, t := range s.tools {
		all[i] = t.Definition
	}
	return all
}

// Keep says which earlier reads the model still sees in full, by [Result.Key]: reading the same again while nothing has
// changed is then answered with "unchanged". It replaces what was said before; at first there are none.
func (s *Set) Keep(keys []string) {
	known := make(map[string]bool, len(keys))
	for _, key := range keys {
		known[key] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = known
}

func (s *Set) keeps(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key]
}

// canonical is the tool's own name: models ask for some by another.
func canonical(name string) string {
	if name == "run_command" {
		return "run_terminal"
	}
	return name
}

func (s *Set) find(name string) (registered, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return registered{}, invalid(fmt.Errorf("there is no tool %q; there are: %s", head(name, 100), strings.Join(names, ", ")))
}
