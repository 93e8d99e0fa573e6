package verify

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
)

// Run verifies a plugin. It starts the plugin's processes and ends all of them before it returns.
// The error is the end of ctx or a mistake of the caller, such as a missing program or an unknown
// row. A plugin that fails is not an error; see [Report.OK].
func Run(ctx context.Context, target Target, opts Options) (Report, error) {
	for _, id := range opts.Only {
		if !slices.ContainsFunc(table(), func(c check) bool { return c.id == id }) {
			return Report{}, unknownRow(id)
		}
	}
	target, err := target.locate()
	if err != nil {
		return Report{}, err
	}
	t, err := newTrial(opts)
	if err != nil {
		return Report{}, err
	}
	defer t.close()
	t.target = target
	return t.run(ctx, selectRows(opts.Only))
}

// Components verifies the components of a plugin in this process, for the tests of package
// plugintest. It tries the rows that observe no process, each on a new plugin from build that is
// served on a socket.
func Components(ctx context.Context, build func() sdk.Plugin, cases Cases) (Report, error) {
	d, err := describe.Build(build())
	if err != nil {
		return Report{}, fmt.Errorf("the description breaks the rules:\n%w", err)
	}
	t, err := newTrial(Options{Cases: cases, scale: scale{bytes: 5 << 20, atOnce: 8}})
	if err != nil {
		return Report{}, err
	}
	defer t.close()
	t.description = d
	t.connect = func(context.Context) (*subprocess.Session, error) {
		return subprocess.Serve(build())
	}
	return t.run(ctx, slices.DeleteFunc(table(), func(c check) bool { return c.program }))
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

// run tries rows and returns the report of the requested rows.
func (t *trial) run(ctx context.Context, checks []check) (Report, error) {
	begun := time.Now()
	rows := t.runAll(ctx, checks)
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
	for _, row := range rows {
		if isRequested(*row, t.opts.Only) {
			report.add(*row)
		}
	}
	report.Milliseconds = time.Since(begun).Milliseconds()
	return report, nil
}

// runAll tries the rows in their order. Long rows run concurrently with the others.
func (t *trial) runAll(ctx context.Context, checks []check) []*Row {
	var rows []*Row
	var long sync.WaitGroup
	for _, c := range checks {
		if t.callerError != nil || ctx.Err() != nil {
			break
		}
		for _, component := range c.components(t.description.Components) {
			row := &Row{ID: c.id, Component: label(component), Title: c.title}
			rows = append(rows, row)
			key := result{row.ID, row.Component}
			missing := slices.IndexFunc(c.needs, func(id string) bool { return t.failed[result{id, ""}] || t.failed[result{id, row.Component}] })
			switch {
			case missing >= 0:
				row.Result, row.Seen = NotApplicable, "not tried, because "+c.needs[missing]+" did not pass"
				t.failed[key] = true
				t.report(row)
			case c.long:
				long.Go(func() { t.runCheck(ctx, c, component, row) })
			default:
				t.runCheck(ctx, c, component, row)
				t.failed[key] = row.Result == Fail
			}
		}
	}
	long.Wait()
	return rows
}

// runCheck tries one row.
func (t *trial) runCheck(ctx context.Context, c check, component sdk.Component, row *Row) {
	begun := time.Now()
	f := t.find(ctx, c, component)
	row.Result, row.Seen, row.Do = f.result, f.observation, f.remedy
	row.Milliseconds = time.Since(begun).Milliseconds()
	t.report(row)
}

// find tries one row with the session that it needs. Without the author's case the row is not applicable.
func (t *trial) find(ctx context.Context, c check, component sdk.Component) finding {
	if c.author != "" && !t.opts.Cases.has(component, c.author) {
		return needCase(component, c.author)
	}
	var s *subprocess.Session
	var err error
	switch c.session {
	case sharedSession:
		if t.target.Path == "" {
			t.closeShared() // in this process each row gets a new plugin
		}
		s, err = t.sharedSession(ctx)
	case ownSession:
		if s, err = t.newSession(ctx); err == nil {
			defer s.Close()
		}
	case noSession:
	}
	if err != nil {
		return noProcess(err)
	}
	return c.run(ctx, t, s, component)
}

func (t *trial) report(row *Row) {
	if t.opts.OnRow == nil || !isRequested(*row, t.opts.Only) {
		return
	}
	t.reporting.Lock()
	defer t.reporting.Unlock()
	t.opts.OnRow(*row)
}
