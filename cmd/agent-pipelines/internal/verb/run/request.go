package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// startRequest is a session to run or to resume. Exactly one of its fields is set.
type startRequest struct {
	Run    *engine.RunOptions
	Resume *engine.ResumeOptions
}

// session returns the requested name of the session, "" for a generated name.
func (r startRequest) session() string {
	if r.Resume != nil {
		return r.Resume.Session
	}
	return cmp.Or(r.Run.Session, r.Run.Stage)
}

func (r startRequest) force() bool {
	if r.Resume != nil {
		return r.Resume.Force
	}
	return r.Run.Force
}

// waits reports whether the session waits for answers instead of pausing.
func (r startRequest) waits() bool {
	if r.Resume != nil {
		return r.Resume.Wait
	}
	return r.Run.Wait
}

// addNotes adds events that the run writes at the beginning of its journal.
func (r startRequest) addNotes(notes ...event.Event) {
	if r.Resume != nil {
		r.Resume.Notes = append(r.Resume.Notes, notes...)
	} else {
		r.Run.Notes = append(r.Run.Notes, notes...)
	}
}

// preflight reports the errors that would keep the session from starting.
func (r startRequest) preflight(ctx context.Context, e *engine.Engine) (*engine.PreflightResult, error) {
	if r.Resume != nil {
		return e.PreflightResume(ctx, *r.Resume)
	}
	return e.Preflight(ctx, *r.Run)
}

// run runs or resumes the session and reports its updates to observe. With wait it waits for answers to questions instead of
// pausing.
func (r startRequest) run(ctx context.Context, e *engine.Engine, wait bool, observe func(engine.Update)) (*engine.Result, error) {
	if r.Resume != nil {
		o := *r.Resume
		o.Wait, o.Observe = wait, observe
		return e.Resume(ctx, o)
	}
	o := *r.Run
	o.Wait, o.Observe = wait, observe
	return e.Run(ctx, o)
}

// SessionVerb is the hidden verb that runs a session for another process of this program, see [ChildSession].
const SessionVerb = "run-session"

// childArgs describes a session for another process of this program.
type childArgs struct {
	Flags   cli.GlobalFlags
	Request startRequest
	// Env and Dir are the environment and directory of the process in a tmux pane: a tmux server sets other values.
	Env []string
	Dir string
}

// newChildArgs returns the arguments of another process that runs the session. Its flags equal the flags of this process,
// but it prints text instead of JSON.
func newChildArgs(flags cli.GlobalFlags, r startRequest) childArgs {
	flags.JSON = false
	return childArgs{Flags: flags, Request: r}
}

// ChildArgs returns the standard input with which the verb [SessionVerb] runs a new session.
func ChildArgs(flags cli.GlobalFlags, o engine.RunOptions) ([]byte, error) {
	return json.Marshal(newChildArgs(flags, startRequest{Run: &o}))
}

// readChildArgs reads childArgs from a file, or from standard input for "".
func readChildArgs(file string, stdin io.Reader) (h childArgs, err error) {
	var text []byte
	if file != "" {
		text, err = os.ReadFile(file)
	} else if stdin != nil {
		text, err = io.ReadAll(stdin)
	}
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return h, fmt.Errorf("read the session to run: %w", err)
	}
	return h, nil
}

// write writes childArgs for [TmuxStart] to a file that only the user can read, in memory if XDG_RUNTIME_DIR exists. The
// caller removes the directory; the process in the pane removes the file.
func (h childArgs) write() (dir, file string, err error) {
	if h.Dir, err = os.Getwd(); err != nil {
		return "", "", fmt.Errorf("find the current directory: %w", err)
	}
	h.Env = os.Environ()
	text, err := json.Marshal(h)
	if err == nil {
		dir, err = os.MkdirTemp(runtimeDir(), "agent-pipelines-tmux-*") // mode 0700
	}
	if err != nil {
		return "", "", fmt.Errorf("write the session for tmux: %w", err)
	}
	file = filepath.Join(dir, "childargs.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", "", errors.Join(fmt.Errorf("write the session for tmux: %w", err), os.RemoveAll(dir))
	}
	return dir, file, nil
}

// runtimeDir returns $XDG_RUNTIME_DIR, which is in memory, if it exists; "" means the directory for temporary files.
func runtimeDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}
