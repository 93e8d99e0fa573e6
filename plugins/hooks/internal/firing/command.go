package firing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Runner runs the user's commands. It is safe for concurrent use.
type Runner struct {
	Environ func() []string
	TempDir string // directory of the context file; "" is the system's directory

	mu  sync.Mutex
	Log io.Writer // receives the lines that commands write to stderr
}

// NewRunner returns a runner whose commands inherit the process's environment.
func NewRunner() *Runner { return &Runner{Environ: os.Environ, Log: os.Stderr} }

// Command is one run of a program for one firing.
type Command struct {
	Name  string // the subject of messages, such as "the script"
	Path  string // absolute
	Args  []string
	Env   map[string]string
	Limit time.Duration
	// Stdout and Stderr receive the lines, concurrently.
	Stdout, Stderr func(line []byte)
	// Finish is called once the processes have ended, before the context file and its directory are removed. Default: nil.
	Finish func(contextFile string)
}

// Shell is the program that runs a shell text.
const Shell = "/bin/sh"

// ShellCommand returns the command that runs a text in the shell.
func ShellCommand(name, text string) Command {
	return Command{Name: name, Path: Shell, Args: []string{"-c", text}}
}

// Run runs the command in the project and returns its end, after all its processes have ended.
//
// Errors are of kind hook_timeout if the command exceeded its limit, signal_interrupt if it was stopped, and
// hook_failed if it could not start.
func (r *Runner) Run(ctx context.Context, c Command, req sdk.HookRequest) (cliagent.End, error) {
	added, remove, err := r.variables(req)
	if err != nil {
		return cliagent.End{}, err
	}
	defer remove()
	maps.Copy(added, c.Env)
	path, args := confine.Tool(r.Environ(), c.Path, c.Args)
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: c.Name, Path: path, Args: args, Dir: req.WorkDir, Env: cliagent.Environ(r.Environ(), added),
		Timeout: c.Limit, GroupTerm: true,
		Line: func(line []byte) bool {
			c.Stdout(line)
			return false
		},
		StderrLine: func(line []byte) {
			r.logLine(c.Name, line)
			c.Stderr(line)
		},
	})
	if c.Finish != nil {
		c.Finish(added[VariablePrefix+"CONTEXT_FILE"])
	}
	switch {
	case ctx.Err() != nil && (err != nil || end.StopReason == cliagent.StopCanceled):
		return end, StopError(ctx, c.Name)
	case err != nil:
		f := *failure.From(err)
		f.Kind, f.Retryable = failure.HookFailed, false
		return end, &f
	case end.StopReason == cliagent.StopTimeout:
		return end, TimeoutError(c.Name, c.Limit).WithDetail(end.Stderr)
	}
	return end, nil
}

func (r *Runner) logLine(name string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Log, "%s: %s\n", name, bytes.TrimRight(line, "\r\n"))
}

// maxVariable is the longest value of an environment variable, in bytes. Linux allows 128 KiB for name and value
// together (MAX_ARG_STRLEN).
const maxVariable = 100 << 10

// VariablePrefix begins the names of the variables that a command receives.
const VariablePrefix = "AGENT_PIPELINES_"

// variables returns the firing as environment variables. A file holds the whole context, since a variable that
// would be too long is empty; remove deletes that file.
func (r *Runner) variables(req sdk.HookRequest) (vars map[string]string, remove func(), err error) {
	dir, err := os.MkdirTemp(r.TempDir, "agent-pipelines-hook-")
	if err != nil {
		return nil, nil, failure.New(failure.HookFailed, "create a directory for the context: %w", err).WithHint("set TMPDIR to a writable directory")
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "context")
	if err := os.WriteFile(file, []byte(req.Context), 0o600); err != nil {
		remove()
		return nil, nil, failure.New(failure.HookFailed, "write the context: %w", err)
	}
	vars = map[string]string{
		"SESSION": req.Session, "NODE": req.Node, "STAGE": req.Stage, "ITERATION": strconv.Itoa(req.Iteration), "PROVIDER": req.Provider,
		"POINT": string(req.Point), "STATUS": req.Status, "HOOK_KEY": req.Key, "CONTEXT": req.Context, "CONTEXT_FILE": file,
		"MESSAGE": req.Message, "ARTIFACT": req.ArtifactFile, "INPUT_ARTIFACT": req.InputArtifactFile, "START_ARTIFACT": req.StartArtifactFile,
		"STAGE_DIR": req.StageDir,
	}
	named := make(map[string]string, len(vars))
	for name, value := range vars {
		if value = strings.ReplaceAll(value, "\x00", ""); len(value) > maxVariable {
			value = ""
		}
		named[VariablePrefix+name] = value
	}
	return named, remove, nil
}
