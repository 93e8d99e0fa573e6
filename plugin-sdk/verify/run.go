package verify

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Target is the plugin to verify.
type Target struct {
	// Path is the program, absolute or relative to the current directory. Required.
	Path string
	// Args are the arguments with which the program serves the plugin, for a program that contains
	// several. Default: none.
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
	// OnRow is called after each row, in the order in which rows end. Default: nil.
	OnRow func(Row)

	// Tests shorten the silence, the bytes of the row large, and the calls of the row leak.
	silence time.Duration
	large   int
	calls   int
}

// Run verifies a plugin. It starts the plugin's processes and ends all of them before it returns.
// The error is a mistake of the caller, such as a missing program or an unknown row. A plugin that
// fails is no error; see [Report.OK].
func Run(ctx context.Context, target Target, opts Options) (Report, error) {
	t, err := newTrial(target, opts)
	if err != nil {
		return Report{}, err
	}
	defer t.close()
	begun := time.Now()
	rows := t.runAll(ctx)
	if err := cmp.Or(context.Cause(ctx), t.callerError); err != nil {
		return Report{}, err
	}
	report := Report{
		FormatVersion: ReportVersion,
		Plugin:        t.description.Name, PluginVersion: t.description.Version, SDK: t.description.SDK,
		Command:  append([]string{t.target.Path}, t.target.Args...),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Rows:     []Row{},
	}
	for _, row := range keep(rows, opts.Only) {
		report.add(row)
	}
	report.Milliseconds = time.Since(begun).Milliseconds()
	return report, nil
}

// trial is one verification. It is used by one goroutine; long rows have their own sessions.
type trial struct {
	target Target
	opts   Options
	dir    string // for all written files

	callerError error // the caller's, found during the run
	description sdk.Description
	first       *subprocess.Session // process for the rows on the handshake
	line        string              // its handshake line
	shared      *subprocess.Session // process for most rows
	inits       map[string]error
	failedWork  map[string]bool // components whose work row failed; other rows do not use their work

	mu       sync.Mutex
	attempts int // numbers the directories of attempts
}

func newTrial(target Target, opts Options) (*trial, error) {
	for _, id := range opts.Only {
		if !slices.ContainsFunc(table(), func(c check) bool { return c.id == id }) {
			return nil, unknownRow(id)
		}
	}
	path, err := filepath.Abs(target.Path)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(path); err != nil {
		return nil, fmt.Errorf("verify %s: %w", path, err)
	}
	target.Path = path
	if target.Name == "" {
		target.Name, _ = strings.CutPrefix(filepath.Base(path), "agent-plugin-")
	}
	dir, err := os.MkdirTemp("", "ap-verify-work-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	if err := opts.Cases.writeFiles(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	opts.silence, opts.large, opts.calls = cmp.Or(opts.silence, silence), cmp.Or(opts.large, large), cmp.Or(opts.calls, measured)
	if opts.Environment == nil {
		opts.Environment = os.Environ()
	}
	opts.Environment = subprocess.Environment(opts.Environment)
	return &trial{target: target, opts: opts, dir: dir, inits: map[string]error{}, failedWork: map[string]bool{}}, nil
}

// unknownRow returns the error for an unknown row ID.
func unknownRow(id string) error {
	var ids []string
	for _, c := range table() {
		ids = append(ids, c.id)
	}
	if near := nearest.Name(id, ids); near != "" {
		return fmt.Errorf("unknown row %q, did you mean %q? (rows: %s)", id, near, strings.Join(ids, ", "))
	}
	return fmt.Errorf("unknown row %q (rows: %s)", id, strings.Join(ids, ", "))
}

func (t *trial) close() {
	for _, s := range []*subprocess.Session{t.first, t.shared} {
		if s != nil {
			s.Close()
		}
	}
	_ = os.RemoveAll(t.dir)
}

// spec returns the plugin's specification with a new marker.
func (t *trial) spec() subprocess.Spec {
	return subprocess.Spec{Path: t.target.Path, Args: t.target.Args, Env: t.opts.Environment, Dir: t.dir, Marker: subprocess.NewMarker()}
}

// sharedSession returns the shared process with its components initialized. It replaces a process that has
// ended.
func (t *trial) sharedSession(ctx context.Context) (*subprocess.Session, error) {
	if t.shared != nil && !t.shared.Ended() {
		return t.shared, nil
	}
	if t.shared != nil {
		t.shared.Close()
		t.shared = nil
	}
	s, err := t.newSession(ctx)
	if err != nil {
		return nil, err
	}
	t.shared = s
	return s, nil
}

// newSession returns a new process with its components initialized. The caller closes it.
func (t *trial) newSession(ctx context.Context) (*subprocess.Session, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range t.description.Components {
		err := s.Prepare(ctx, c, t.dir)
		t.mu.Lock()
		t.inits[label(c)] = err
		t.mu.Unlock()
	}
	return s, nil
}

// label returns the name of a component in rows.
func label(c sdk.Component) string {
	if c.Name == "" {
		return ""
	}
	return strings.ReplaceAll(string(c.Kind), "_", " ") + " " + c.Name
}

// runAll tries every requested row and the rows that these need.
func (t *trial) runAll(ctx context.Context) []Row {
	checks := selectRows(t.opts.Only)
	failed := map[[2]string]bool{} // keys are row and component
	var rows []*Row
	var long sync.WaitGroup
	for _, c := range checks {
		if t.callerError != nil || ctx.Err() != nil {
			break
		}
		for _, component := range c.components(t.description.Components) {
			row := &Row{ID: c.id, Component: label(component), Title: c.title}
			rows = append(rows, row)
			key := [2]string{row.ID, row.Component}
			missing := slices.IndexFunc(c.needs, func(id string) bool { return failed[[2]string{id, ""}] || failed[[2]string{id, row.Component}] })
			if missing >= 0 {
				row.Result, row.Seen = NotApplicable, "not tried, because "+c.needs[missing]+" did not pass"
				failed[key] = true
				t.report(row)
				continue
			}
			if c.long {
				long.Go(func() { t.runCheck(ctx, c, component, row) })
				continue
			}
			t.runCheck(ctx, c, component, row)
			failed[key] = row.Result == Fail
			t.failedWork[row.Component] = t.failedWork[row.Component] || c.work && row.Result == Fail
		}
	}
	long.Wait()
	all := make([]Row, 0, len(rows))
	for _, row := range rows {
		all = append(all, *row)
	}
	return all
}

// runCheck tries one row.
func (t *trial) runCheck(ctx context.Context, c check, component sdk.Component, row *Row) {
	begun := time.Now()
	f := c.run(ctx, t, component)
	row.Result, row.Seen, row.Do = f.result, f.observation, f.remedy
	row.Milliseconds = time.Since(begun).Milliseconds()
	t.report(row)
}

func (t *trial) report(row *Row) {
	if t.opts.OnRow == nil || !isRequested(*row, t.opts.Only) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opts.OnRow(*row)
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

// skip returns a finding for a row that is not applicable, with the missing case.
func skip(give, format string, args ...any) finding {
	return finding{result: NotApplicable, observation: fmt.Sprintf(format, args...), remedy: give}
}

// noProcess returns a failure for a row without its process.
func noProcess(err error) finding {
	return fail("run the row alone with --only and read the plugin's stderr", "%s", subprocess.Shorten(err.Error()))
}

// open starts the plugin, performs the handshake and connects. The caller closes the session.
func (t *trial) open(ctx context.Context, options ...client.Option) (*subprocess.Session, error) {
	dir, err := subprocess.SocketDir()
	if err != nil {
		return nil, err
	}
	p, err := subprocess.Start(t.spec().WithHandshake(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	s := &subprocess.Session{Process: p, Dir: dir}
	line, err := p.ReadHandshake(ctx)
	if err == nil {
		err = s.Connect(line, options...)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}
