package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Fixtures define a session under test. Run is required, and the files that it names.
type Fixtures struct {
	// Project holds the project's files, such as .claude/pipelines/ship.yaml. They are copied, except for
	// .git, files of sessions (.claude/pipeline-runs, .claude/locks), and irregular files.
	Project fs.FS
	// Files adds files, text by path in the project. They override those of Project.
	Files map[string]string
	// Run selects the run. Session defaults to "test".
	Run engine.RunOptions
	// Replies are the agents' replies; the first one that matches a request is used. Without a match, Script
	// answers; without Script, the reply is the zero Reply.
	Replies []Reply
	// Script answers requests that no reply matches, for example with a new answer for each visit. It gets
	// the provider's name. Parallel blocks and steps call it concurrently.
	Script func(provider string, req sdk.ExecuteRequest) Reply
	// Checks are the results of nodes' checks and of hooks with action check; the first match is used, and unmatched
	// checks pass. If it is nil, the pipeline's checks need the real plugin, through Options.
	Checks []Check
	// Providers are the names of the mock providers; the first is the default provider. Default: "mock".
	Providers []string
	// Options are further options of the engine, which take precedence. Examples are WithBundled for real plugins,
	// WithTermination for termination strategies, and WithEnvironment. Default: none.
	Options []engine.Option
}

// Session is a session under test. Its methods fail the test on unexpected errors, and so must be called from
// the test's goroutine. To check errors or cancel a context, use Engine directly.
type Session struct {
	// Engine runs the session; it is closed when the test ends.
	Engine *engine.Engine
	// Project is the absolute path of the project, a temporary directory of the test.
	Project string
	// Name is the session's name.
	Name string
	// Options are the options of Run. A test may change them between runs: Force restarts a finished session.
	Options engine.RunOptions

	t      testing.TB
	script *script
}

// NewMockSession creates an isolated project with a session that has not started. Invalid fixtures fail the
// test. All files are removed when the test ends.
func NewMockSession(t testing.TB, fixtures Fixtures) *Session {
	t.Helper()
	sessionsState.use(t)
	s := &Session{Project: t.TempDir(), Name: cmp.Or(fixtures.Run.Session, "test"), Options: fixtures.Run, t: t}
	s.Options.Session = s.Name
	if err := write(s.Project, fixtures); err != nil {
		t.Fatalf("write the project: %v", err)
	}
	providers := fixtures.Providers
	if len(providers) == 0 {
		providers = []string{"mock"}
	}
	s.script = &script{replies: slices.Clone(fixtures.Replies), fallback: fixtures.Script}
	if err := s.script.check(providers); err != nil {
		t.Fatalf("read the fixtures: %v", err)
	}
	options := []engine.Option{
		engine.WithWorkDir(s.Project), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"), engine.WithExecutable("-"),
		engine.WithEnvironment([]string{}), engine.WithoutDelays(), engine.WithDefaultProvider(providers[0]),
	}
	for _, name := range providers {
		options = append(options, engine.WithProvider(provider{name, s.script}))
	}
	if fixtures.Checks != nil {
		options = append(options, engine.WithHookAction(checkAction{slices.Clone(fixtures.Checks)}))
	}
	eng, err := engine.NewEngine(append(options, fixtures.Options...)...)
	if err != nil {
		t.Fatalf("make the engine: %v", err)
	}
	s.Engine = eng
	t.Cleanup(func() {
		if err := eng.Close(context.Background()); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return s
}

// sessionsState is the user's state directory while sessions of this package exist: their keys, snapshots and heads of
// journals must not lie among those of the user who runs the tests.
var sessionsState stateHome

// stateHome replaces the process's state directory while it has users. It is safe for concurrent use.
type stateHome struct {
	mu     sync.Mutex // guards:
	users  int
	dir    string
	before string
	wasSet bool
}

const stateVariable = "XDG_STATE_HOME" // it applies to the whole process, so that parallel tests share it

// use gives the process a state directory of its own until the test, and all others with sessions, have ended.
func (h *stateHome) use(t testing.TB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 {
		dir, err := os.MkdirTemp("", "enginetest-state-*") //nolint:usetesting // later tests use it, too
		if err != nil {
			t.Fatalf("make a state directory: %v", err)
		}
		h.dir = dir
		h.before, h.wasSet = os.LookupEnv(stateVariable)
		_ = os.Setenv(stateVariable, dir) //nolint:usetesting // t.Setenv forbids parallel tests
	}
	h.users++
	t.Cleanup(func() { h.release(t) })
}

func (h *stateHome) release(t testing.TB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if h.wasSet {
		_ = os.Setenv(stateVariable, h.before) //nolint:usetesting // in a cleanup
	} else {
		_ = os.Unsetenv(stateVariable)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Errorf("remove the state directory: %v", err)
	}
}

// write writes the project's files into dir.
func write(dir string, fixtures Fixtures) error {
	if fixtures.Project != nil {
		if err := fs.WalkDir(fixtures.Project, ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{".git", ".claude/pipeline-runs", ".claude/locks"}, name):
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			data, err := fs.ReadFile(fixtures.Project, name)
			info, unread := entry.Info()
			if err = errors.Join(err, unread); err != nil {
				return err
			}
			return writeFile(dir, name, data, info.Mode().Perm()|0o600)
		}); err != nil {
			return err
		}
	}
	for name, text := range fixtures.Files {
		if err := writeFile(dir, name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(dir, name string, data []byte, perm fs.FileMode) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is not a path inside the project", name)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // a file of the project may be read-only
		return err
	}
	return os.WriteFile(path, data, perm)
}

// Run runs the session until it ends or pauses. A failed run is a result; a run that cannot start fails the
// test.
func (s *Session) Run() *engine.Result {
	s.t.Helper()
	result, err := s.Engine.Run(s.t.Context(), s.Options)
	if err != nil {
		s.t.Fatalf("run session %q: %v", s.Name, err)
	}
	return result
}

// Resume resumes the session, with text for the agents' next prompts ("" for none).
func (s *Session) Resume(text string) *engine.Result {
	s.t.Helper()
	result, err := s.Engine.Resume(s.t.Context(), engine.ResumeOptions{Session: s.Name, Context: text})
	if err != nil {
		s.t.Fatalf("resume session %q: %v", s.Name, err)
	}
	return result
}

// Status returns the session's status. The test fails if the session has not started.
func (s *Session) Status() *engine.Status {
	s.t.Helper()
	status, err := s.Engine.Status(s.Name)
	if err != nil {
		s.t.Fatalf("read the status of session %q: %v", s.Name, err)
	}
	return status
}

// Events returns the events of the session's latest run, from session_start on, including resumes.
func (s *Session) Events() []event.Event {
	s.t.Helper()
	var events []event.Event
	if err := s.Engine.Tail(context.Background(), s.Name, -1, false, func(e event.Event) error {
		if e.Type == event.SessionStart {
			events = nil
		}
		events = append(events, e)
		return nil
	}); err != nil {
		s.t.Fatalf("read the events of session %q: %v", s.Name, err)
	}
	return events
}

// Requests returns all requests to agents so far, with their full prompts, in order. [StepID] returns a
// request's step.
func (s *Session) Requests() []sdk.ExecuteRequest { return s.script.received() }
