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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Target is the plugin to be verified.
type Target struct {
	// Path is the program, absolute or relative to the current directory. Required.
	Path string
	// Args are the arguments that make the program serve the plugin, for a program that carries several.
	// Default none.
	Args []string
	// Name is what the plugin must call itself. Default: the part of the file's name after agent-plugin-.
	Name string
}

// Options say how [Run] verifies. The zero value tries all rows that need nothing.
type Options struct {
	// Cases are the author's; see [ReadCases].
	Cases Cases
	// Normal is the case normal of each provider for which Cases have none. Nil: none.
	Normal *Attempt
	// Only are the ids of the rows to be reported; what they need is tried besides, and reported if it fails.
	// Empty: all.
	Only []string
	// Environment is what the plugin is started with, without the variables of the handshake. Nil: that of
	// the calling process.
	Environment []string
	// Host makes a command that calls [ServeHost] and nothing else, so that a host can be killed. Nil: the
	// row parent-death is not applicable.
	Host func() *exec.Cmd
	// Done is called after each row, in the order in which rows end. Nil does nothing.
	Done func(Row)

	// Tests shorten how long nothing may come of an attempt, what the row large sends, in bytes, and how many
	// calls the row leak watches.
	silence time.Duration
	large   int
	calls   int
}

// Run verifies a plugin. It starts the plugin's processes, and has ended all of them when it returns. The
// error is a mistake of the caller: a program that is not there, a row that does not exist. That a
// plugin fails is no error; see [Report.OK].
func Run(ctx context.Context, target Target, opts Options) (Report, error) {
	t, err := newTrial(target, opts)
	if err != nil {
		return Report{}, err
	}
	defer t.close()
	begun := time.Now()
	rows := t.tryAll(ctx)
	if err := cmp.Or(context.Cause(ctx), t.mistake); err != nil {
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

// trial is one verification. It is used from one goroutine; long rows have sessions of their own.
type trial struct {
	target Target
	opts   Options
	dir    string // for everything that is written

	mistake     error // of the caller, found on the way
	description sdk.Description
	first       *session // the process of the rows on the handshake
	line        string   // its handshake line
	shared      *session // the process that most rows use
	inits       map[string]error
	unfit       map[string]bool // components whose own work failed its row, and is not asked for in others

	mu       sync.Mutex
	attempts int // numbers the attempts' directories
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
	if err := opts.Cases.furnish(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	opts.silence, opts.large, opts.calls = cmp.Or(opts.silence, silence), cmp.Or(opts.large, large), cmp.Or(opts.calls, measured)
	if opts.Environment == nil {
		opts.Environment = os.Environ()
	}
	opts.Environment = environment(opts.Environment)
	return &trial{target: target, opts: opts, dir: dir, inits: map[string]error{}, unfit: map[string]bool{}}, nil
}

// unknownRow is the error for an id that no row has.
func unknownRow(id string) error {
	var ids []string
	for _, c := range table() {
		ids = append(ids, c.id)
	}
	if near := nearest.Name(id, ids); near != "" {
		return fmt.Errorf("there is no row %q, did you mean %q? (rows: %s)", id, near, strings.Join(ids, ", "))
	}
	return fmt.Errorf("there is no row %q (rows: %s)", id, strings.Join(ids, ", "))
}

func (t *trial) close() {
	for _, s := range []*session{t.first, t.shared} {
		if s != nil {
			s.close()
		}
	}
	_ = os.RemoveAll(t.dir)
}

// spec starts the plugin with a marker of its own.
func (t *trial) spec() spec {
	return spec{Path: t.target.Path, Args: t.target.Args, Env: t.opts.Environment, Dir: t.dir, Marker: newMarker()}
}

// live is the shared process with its components initialized; a dead one is replaced.
func (t *trial) live(ctx context.Context) (*session, error) {
	if t.shared != nil && !t.shared.ended() {
		return t.shared, nil
	}
	if t.shared != nil {
		t.shared.close()
		t.shared = nil
	}
	s, err := t.fresh(ctx)
	if err != nil {
		return nil, err
	}
	t.shared = s
	return s, nil
}

// fresh is a process of its own with its components initialized; the caller closes it.
func (t *trial) fresh(ctx context.Context) (*session, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range t.description.Components {
		err := s.prepare(ctx, c, t.dir)
		t.mu.Lock()
		t.inits[label(c)] = err
		t.mu.Unlock()
	}
	return s, nil
}

// label is how a component is called in rows.
func label(c sdk.Component) string {
	if c.Name == "" {
		return ""
	}
	return strings.ReplaceAll(string(c.Kind), "_", " ") + " " + c.Name
}

// tryAll tries every row that was asked for or is needed by one.
func (t *trial) tryAll(ctx context.Context) []Row {
	checks := wanted(t.opts.Only)
	failed := map[[2]string]bool{} // by row and component
	var rows []*Row
	var long sync.WaitGroup
	for _, c := range checks {
		if t.mistake != nil || ctx.Err() != nil {
			break
		}
		for _, component := range c.of(t.description.Components) {
			row := &Row{ID: c.id, Component: label(component), Title: c.title}
			rows = append(rows, row)
			key := [2]string{row.ID, row.Component}
			missing := slices.IndexFunc(c.needs, func(id string) bool { return failed[[2]string{id, ""}] || failed[[2]string{id, row.Component}] })
			if missing >= 0 {
				row.Result, row.Seen = NotApplicable, "not tried, because "+c.needs[missing]+" did not pass"
				failed[key] = true
				t.tell(row)
				continue
			}
			if c.long {
				long.Go(func() { t.try(ctx, c, component, row) })
				continue
			}
			t.try(ctx, c, component, row)
			failed[key] = row.Result == Fail
			t.unfit[row.Component] = t.unfit[row.Component] || c.work && row.Result == Fail
		}
	}
	long.Wait()
	all := make([]Row, 0, len(rows))
	for _, row := range rows {
		all = append(all, *row)
	}
	return all
}

// try tries one row.
func (t *trial) try(ctx context.Context, c check, component sdk.Component, row *Row) {
	begun := time.Now()
	f := c.run(ctx, t, component)
	row.Result, row.Seen, row.Do = f.result, f.seen, f.do
	row.Milliseconds = time.Since(begun).Milliseconds()
	t.tell(row)
}

func (t *trial) tell(row *Row) {
	if t.opts.Done == nil || !asked(*row, t.opts.Only) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opts.Done(*row)
}

// finding is how a row ended.
type finding struct {
	result   Result
	seen, do string
}

func pass(format string, args ...any) finding {
	return finding{result: Pass, seen: fmt.Sprintf(format, args...)}
}

// fail is a failure, with what its author can do.
func fail(do, format string, args ...any) finding {
	return finding{result: Fail, seen: fmt.Sprintf(format, args...), do: do}
}

// skip is a row that cannot be tried, with what to give so that it can.
func skip(give, format string, args ...any) finding {
	return finding{result: NotApplicable, seen: fmt.Sprintf(format, args...), do: give}
}

// lost is a row that failed because a process could not be had.
func lost(err error) finding {
	return fail("run the row alone with --only, and look at the plugin's stderr", "%s", clip(err.Error()))
}
