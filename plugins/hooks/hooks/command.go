package hooks

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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// runner runs the user's commands. It is safe for concurrent use.
type runner struct {
	environ func() []string
	tempDir string // for the file with the context; "" is the system's

	mu  sync.Mutex
	log io.Writer // gets what commands write to stderr, line by line
}

func newRunner() *runner { return &runner{environ: os.Environ, log: os.Stderr} }

// command is one run for one firing.
type command struct {
	who   string // in messages, "the script"
	path  string // absolute
	args  []string
	env   map[string]string
	limit time.Duration
	// stdout and stderr get the lines, at the same time.
	stdout, stderr func(line []byte)
}

// shell is the program that runs a text.
const shell = "/bin/sh"

// inShell is a command that the shell runs.
func inShell(who, text string) command {
	return command{who: who, path: shell, args: []string{"-c", text}}
}

// run runs the command in the project and returns how it ended by itself, well or not. Nothing that it
// started is left then. Errors are of kind hook_timeout where the limit was passed, signal_interrupt
// where it was stopped, and hook_failed where it could not be started.
func (r *runner) run(ctx context.Context, c command, req sdk.HookRequest) (cliagent.End, error) {
	added, remove, err := r.variables(req)
	if err != nil {
		return cliagent.End{}, err
	}
	defer remove()
	maps.Copy(added, c.env)
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: c.who, Path: c.path, Args: c.args, Dir: req.WorkDir, Env: cliagent.Environ(r.environ(), added),
		Timeout: c.limit, GroupTerm: true,
		Line: func(line []byte) bool {
			c.stdout(line)
			return false
		},
		StderrLine: func(line []byte) {
			r.logLine(c.who, line)
			c.stderr(line)
		},
	})
	switch {
	case ctx.Err() != nil && (err != nil || end.Cut == cliagent.CutCanceled):
		return end, cutOff(ctx, c.who)
	case err != nil:
		f := *failure.From(err)
		f.Kind, f.Retryable = failure.HookFailed, false
		return end, &f
	case end.Cut == cliagent.CutTimeout:
		return end, tookTooLong(c.who, c.limit).WithDetail(end.Stderr)
	}
	return end, nil
}

func (r *runner) logLine(who string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, "%s: %s\n", who, bytes.TrimRight(line, "\r\n"))
}

// maxVariable is the longest value that becomes an environment variable. Linux takes 128 KiB for name
// and value together (MAX_ARG_STRLEN).
const maxVariable = 100 << 10

// prefix begins the names of our variables.
const prefix = "AGENT_PIPELINES_"

// variables are what a command is told of the firing. The context also lies in a file, whole however
// long it is, and a variable that would be too long is empty; remove deletes the file.
func (r *runner) variables(req sdk.HookRequest) (vars map[string]string, remove func(), err error) {
	dir, err := os.MkdirTemp(r.tempDir, "agent-pipelines-hook-")
	if err != nil {
		return nil, nil, failure.New(failure.HookFailed, "make a directory for the context: %w", err).WithHint("TMPDIR names a directory that can be written")
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
		named[prefix+name] = value
	}
	return named, remove, nil
}
