package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Fixtures are what a session is made of. Run is needed, and the files that it names.
type Fixtures struct {
	// Project are the files of the project, such as .claude/pipelines/ship.yaml. They are copied; left out are
	// .git, what sessions left behind (.claude/pipeline-runs, .claude/locks), and all that is no regular file.
	Project fs.FS
	// Files are further files, text by path in the project. They win over those of Project.
	Files map[string]string
	// Run says what is run. Session defaults to "test".
	Run engine.RunOptions
	// Replies are what the agents answer: of those that are for a request, the first. A request that none is for
	// gets what Script answers, and the zero Reply where there is none.
	Replies []Reply
	// Script answers requests that no reply is for, as a node that comes back has another answer each time. It is told
	// the name of the provider that is asked. In parallel blocks and steps it is called by several at once.
	Script func(provider string, req sdk.ExecuteRequest) Reply
	// Checks are what the checks of nodes, and hooks with action check, measure: of those that are for a request, the
	// first; one that none is for passes. nil: nobody answers for them, and a pipeline with checks needs the true
	// plugin, by Options.
	Checks []Check
	// Providers are the names that are answered for; the first is the provider of stages that name none.
	// Default: "mock".
	Providers []string
	// Strategies are the termination types, beside fixed, that are answered for: such a strategy goes on until
	// the agent's decision is stop or error, or the stage's maximum is reached. Default: none.
	Strategies []string
	// Options are further options of the engine, and win: WithBundled for real plugins, say, or
	// WithEnvironment. Default: none.
	Options []engine.Option
}

// Session is a session under test. Its methods fail the test where something cannot be done at all, and so belong
// into the test's own goroutine; a test that wants the error, or a context to cancel, asks the Engine.
type Session struct {
	// Engine runs the session, and is closed when the test ends.
	Engine *engine.Engine
	// Project is the absolute path of the project, a temporary directory of the test.
	Project string
	// Name is the session's name.
	Name string
	// Options are what Run runs. They may be changed between runs: Force starts a finished session again.
	Options engine.RunOptions

	t      testing.TB
	script *script
}

// NewMockSession makes an isolated project with a session that has not begun. The test fails if the fixtures cannot
// be used. Everything is taken away when the test ends.
func NewMockSession(t testing.TB, fixtures Fixtures) *Session {
	t.Helper()
	s := &Session{Project: t.TempDir(), Name: cmp.Or(fixtures.Run.Session, "test"), Options: fixtures.Run, t: t}
	s.Options.Session = s.Name
	if err := write(s.Project, fixtures); err != nil {
		t.Fatalf("write the project: %v", err)
	}
	providers := fixtures.Providers
	if len(providers) == 0 {
		providers = []string{"mock"}
	}
	s.script = &script{replies: slices.Clone(fixtures.Replies), more: fixtures.Script}
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
	for _, name := range fixtures.Strategies {
		options = append(options, engine.WithTermination(obedient{name}))
	}
	if fixtures.Checks != nil {
		options = append(options, engine.WithHookAction(checker{slices.Clone(fixtures.Checks)}))
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

// write copies the files into dir.
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
			return copyFile(dir, fixtures.Project, name)
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

func copyFile(dir string, from fs.FS, name string) error {
	info, err := fs.Stat(from, name)
	if err != nil {
		return err
	}
	data, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	return writeFile(dir, name, data, info.Mode().Perm()|0o600)
}

func writeFile(dir, name string, data []byte, perm fs.FileMode) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is no path inside a project", name)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // one of the project's may be read only
		return err
	}
	return os.WriteFile(path, data, perm)
}

// Run runs the session until it has ended or waits, and says how. A run that fails is a result; one that cannot
// begin fails the test.
func (s *Session) Run() *engine.Result {
	s.t.Helper()
	result, err := s.Engine.Run(s.t.Context(), s.Options)
	if err != nil {
		s.t.Fatalf("run session %q: %v", s.Name, err)
	}
	return result
}

// Resume goes on with the session, with text for the agents' next prompts ("" for none).
func (s *Session) Resume(text string) *engine.Result {
	s.t.Helper()
	result, err := s.Engine.Resume(s.t.Context(), engine.ResumeOptions{Session: s.Name, Context: text})
	if err != nil {
		s.t.Fatalf("resume session %q: %v", s.Name, err)
	}
	return result
}

// Status is how the session stands. The test fails if it has not begun.
func (s *Session) Status() *engine.Status {
	s.t.Helper()
	status, err := s.Engine.Status(s.Name)
	if err != nil {
		s.t.Fatalf("read the status of session %q: %v", s.Name, err)
	}
	return status
}

// Events are the events of the session's newest run, from its session_start on, resumes included.
func (s *Session) Events() []event.Event {
	s.t.Helper()
	events, err := s.events()
	if err != nil {
		s.t.Fatalf("read the events of session %q: %v", s.Name, err)
	}
	return events
}

func (s *Session) events() (events []event.Event, err error) {
	err = s.Engine.Tail(context.Background(), s.Name, -1, false, func(e event.Event) error {
		if e.Type == event.SessionStart {
			events = nil
		}
		events = append(events, e)
		return nil
	})
	return events, err
}

// Requests are what the agents were asked so far, with their whole prompts, in the order in which the requests came.
// [Step] tells the step that one is for.
func (s *Session) Requests() []sdk.ExecuteRequest { return s.script.asked() }
