package tool

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
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
	// ResultTokens limits a result for the model, at 4 characters per token. Default [DefaultResultTokens].
	ResultTokens int
	// Environ is the plugin's environment; commands get it without secrets. AddedEnviron holds the kernel's variables for the
	// agent, which commands get unchanged.
	Environ      []string
	AddedEnviron map[string]string
	// Redactor removes secrets from results, previews and refusals.
	Redactor *redact.Redactor
	// Offline refuses commands that use the network.
	Offline bool
	// Retry are the pauses before repeats of a command after a temporary failure.
	Retry []time.Duration
	// Progress gets a short message about a call that takes longer.
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
	tools      []tool

	mu       sync.Mutex
	keptKeys map[string]bool // keys of reads whose full result the model still has
}

// arguments are the decoded arguments of a call. They fit the tool's schema.
type arguments interface {
	// prepare checks them and completes the call.
	prepare(s *Set, p *PreparedCall) error
}

// NewSet opens the workspace and reads the contracts of the tools.
func NewSet(o Options) (*Set, error) {
	s := &Set{o: o}
	for _, t := range []struct {
		name      string
		arguments func() arguments
	}{
		{"read_file", func() arguments { return &readArgs{} }},
		{"write_file", func() arguments { return &writeArgs{} }},
		{"modify_file", func() arguments { return &modifyArgs{} }},
		{"delete_file", func() arguments { return &deleteArgs{} }},
		{"create_directory", func() arguments { return &directoryArgs{} }},
		{"list_directory", func() arguments { return &listArgs{Path: ".", Limit: defaultEntries} }},
		{"search_code", func() arguments { return &searchArgs{Path: ".", Limit: defaultEntries} }},
		{"run_terminal", func() arguments { return &terminalArgs{} }},
	} {
		read, err := readTool(t.name, t.arguments)
		if err != nil {
			return nil, err
		}
		s.tools = append(s.tools, read)
	}
	if s.o.ResultTokens <= 0 {
		s.o.ResultTokens = DefaultResultTokens
	}
	if s.o.Allowed == nil {
		s.o.Allowed = command.DefaultPrograms()
	}
	s.tools[len(s.tools)-1].Description += s.programList()
	ws, err := workspace.Open(o.Root)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	s.environ = command.Environ(o.Environ, o.AddedEnviron, ws, o.Offline)
	s.gitEnviron = command.GitEnviron(s.environ, ws)
	s.rules = command.Rules{Workspace: ws, Allowed: s.o.Allowed, Path: cliagent.Getenv(s.environ, "PATH"), Offline: o.Offline, Guarded: s.holdsSecrets}
	s.reports = reportSpellings(o.Root, ws.Path(), slices.Concat(o.Reports, o.Readable))
	return s, nil
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
func (s *Set) Definitions() []model.Tool {
	var all []model.Tool
	for _, t := range s.tools {
		all = append(all, t.Tool)
	}
	return all
}

func (s *Set) find(name string) (tool, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return tool{}, InvalidArgs("there is no tool %q; there are: %s", head(name, 100), strings.Join(names, ", "))
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

// maxChars returns the limit of a result, in characters.
func (s *Set) maxChars() int { return s.o.ResultTokens * charsPerToken }
