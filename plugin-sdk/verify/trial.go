package verify

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Target is the plugin to verify.
type Target struct {
	// Path is the program, absolute or relative to the current directory. Required.
	Path string
	// Args are the arguments with which the program serves the plugin, for a program that contains
	// several plugins. Default: none.
	Args []string
	// Name is the required name of the plugin. Default: the part of the file's name after
	// agent-plugin-.
	Name string
}

// Options are the settings of [Run]. The zero value tries all rows that need no cases.
type Options struct {
	// Cases are the author's cases; see [ReadCases].
	Cases Cases
	// Normal is the normal case of providers without one in Cases. Default: nil, none.
	Normal *Attempt
	// Only are the IDs of the rows to report. Rows that they need run as well and are reported if
	// they fail. Default: all.
	Only []string
	// Environment is the plugin's environment; handshake variables are removed. Default: that of
	// the calling process.
	Environment []string
	// Host returns a command that only calls [ServeHost], as a host to be killed. Without it the
	// row parent-death is not applicable.
	Host func() *exec.Cmd
	// OnRow is called after each row, in the order in which rows end, and never concurrently. Default: nil.
	OnRow func(Row)

	scale scale
}

// scale is the amount of work of the costly rows.
type scale struct {
	// silence is the longest allowed silence of an attempt; the protocol demands a message every 5 seconds.
	silence time.Duration
	// bytes is the size of the messages of the row large.
	bytes int
	// atOnce is the number of calls of the row concurrent.
	atOnce int
	// calls is the number of measured calls of the row leak. A third as many run first, to let pools
	// and the garbage collector settle.
	calls int
}

// trial is one verification. One goroutine tries the rows, except for long rows, which have their
// own goroutines and sessions.
type trial struct {
	target Target
	opts   Options
	dir    string // for all written files
	// connect starts the plugin and connects to it. The caller closes the session.
	connect func(context.Context) (*subprocess.Session, error)

	callerError error // a mistake of the caller that a row found
	description sdk.Description
	first       *subprocess.Session // process for the rows on the handshake
	line        string              // the handshake line of first
	shared      *subprocess.Session // process for most rows
	failed      map[result]bool

	attempts  atomic.Int64 // numbers the directories of attempts
	reporting sync.Mutex
}

// result identifies the result of a row for a component.
type result struct{ id, component string }

func newTrial(opts Options) (*trial, error) {
	dir, err := os.MkdirTemp("", "ap-verify-work-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	if err := opts.Cases.writeFiles(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	opts.scale = scale{
		silence: cmp.Or(opts.scale.silence, 6500*time.Millisecond),
		bytes:   cmp.Or(opts.scale.bytes, 16<<20),
		atOnce:  cmp.Or(opts.scale.atOnce, 100),
		calls:   cmp.Or(opts.scale.calls, 1000),
	}
	if opts.Environment == nil {
		opts.Environment = os.Environ()
	}
	opts.Environment = subprocess.Environment(opts.Environment)
	t := &trial{opts: opts, dir: dir, failed: map[result]bool{}}
	t.connect = t.open
	return t, nil
}

// locate makes the path of the target absolute and sets its default name.
func (t Target) locate() (Target, error) {
	path, err := filepath.Abs(t.Path)
	if err != nil {
		return t, err
	}
	if _, err := exec.LookPath(path); err != nil {
		return t, fmt.Errorf("verify %s: %w", path, err)
	}
	t.Path = path
	if t.Name == "" {
		t.Name, _ = strings.CutPrefix(filepath.Base(path), "agent-plugin-")
	}
	return t, nil
}

func (t *trial) close() {
	t.closeShared()
	if t.first != nil {
		t.first.Close()
	}
	_ = os.RemoveAll(t.dir)
}

func (t *trial) closeShared() {
	if t.shared != nil {
		t.shared.Close()
		t.shared = nil
	}
}

// spec returns the plugin's specification with a new marker.
func (t *trial) spec() subprocess.Spec {
	return subprocess.Spec{Path: t.target.Path, Args: t.target.Args, Env: t.opts.Environment, Dir: t.dir, Marker: subprocess.NewMarker()}
}

// open starts the program, performs the handshake and connects.
func (t *trial) open(ctx context.Context) (*subprocess.Session, error) {
	s, err := t.start()
	if err != nil {
		return nil, err
	}
	line, err := s.ReadHandshake(ctx)
	if err == nil {
		err = s.Connect(line)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start starts the program with the variables of the handshake.
func (t *trial) start() (*subprocess.Session, error) {
	dir, err := subprocess.SocketDir()
	if err != nil {
		return nil, err
	}
	p, err := subprocess.Start(t.spec().WithHandshake(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &subprocess.Session{Process: p, Dir: dir}, nil
}

// sharedSession returns the shared process with its components initialized. It replaces a process that has
// ended.
func (t *trial) sharedSession(ctx context.Context) (*subprocess.Session, error) {
	if t.shared != nil && t.shared.Ended() {
		t.closeShared()
	}
	if t.shared == nil {
		s, err := t.newSession(ctx)
		if err != nil {
			return nil, err
		}
		t.shared = s
	}
	return t.shared, nil
}

// newSession returns a new process with its components initialized. The caller closes it.
func (t *trial) newSession(ctx context.Context) (*subprocess.Session, error) {
	s, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.Init(ctx, t.description.Components, t.dir)
	return s, nil
}

// label returns the name of a component in rows.
func label(c sdk.Component) string {
	if c.Name == "" {
		return ""
	}
	return strings.ReplaceAll(string(c.Kind), "_", " ") + " " + c.Name
}

// finding is the result of a row.
type finding struct {
	result              Result
	observation, remedy string
}

func pass(format string, args ...any) finding {
	return finding{result: Pass, observation: fmt.Sprintf(format, args...)}
}

// fail returns a failure with the author's remedy.
func fail(do, format string, args ...any) finding {
	return finding{result: Fail, observation: fmt.Sprintf(format, args...), remedy: do}
}

// skip returns a finding for a row that is not applicable. give is the case that would make it applicable.
func skip(give, format string, args ...any) finding {
	return finding{result: NotApplicable, observation: fmt.Sprintf(format, args...), remedy: give}
}

// noProcess returns a failure for a row without its process.
func noProcess(err error) finding {
	return fail("run the row alone with --only and read the plugin's stderr", "%s", subprocess.Shorten(err.Error()))
}

// needCase returns the finding for a row whose case is missing.
func needCase(c sdk.Component, name string) finding {
	return skip(fmt.Sprintf("%ss.%s.%s in %s", c.Kind, c.Name, name, CasesFile), "no case %s is given", name)
}

// explain describes the error of a call, or the reason why the process no longer answers.
func explain(ctx context.Context, s *subprocess.Session, err error) string {
	if dead := s.Alive(ctx); dead != nil {
		return subprocess.Shorten(dead.Error())
	}
	return subprocess.Shorten(err.Error())
}
