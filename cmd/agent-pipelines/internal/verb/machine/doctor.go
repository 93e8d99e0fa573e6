package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/doctor"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Doctor is the verb `doctor`.
type Doctor struct {
	Provider string `placeholder:"NAME" complete:"provider" help:"The provider for runs (default that of your settings, else claude)."`
}

// Help returns the text below the usage.
func (*Doctor) Help() string {
	return `The command checks providers and their command lines, plugins, isolation, directories and the machine, and says how to
fix faults. It uses no network and no model, costs nothing and takes at most a minute. Exit code 0: runs can start;
13: they cannot, because of the faults marked bad.`
}

// doctorLimit bounds the time of all checks.
const doctorLimit = time.Minute

// Run implements [cli.Verb].
func (v *Doctor) Run(ctx context.Context, a *cli.App) error {
	ctx, cancel := context.WithTimeoutCause(ctx, doctorLimit, fmt.Errorf("doctor did not finish within %s", doctorLimit))
	defer cancel()
	x, err := v.diagnose(ctx, a)
	if err != nil {
		return err
	}
	for i := range x.Checks {
		x.Checks[i].Result, x.Checks[i].Do = failure.Render(x.Checks[i].Result, cli.Program), failure.Render(x.Checks[i].Do, cli.Program)
	}
	x.Ready = !slices.ContainsFunc(x.Checks, func(c doctor.Check) bool { return c.State == doctor.Bad })
	if !x.Ready {
		a.Code, x.ExitCode = cli.ExitPreflight, int(cli.ExitPreflight)
	}
	return a.Print(x, func(to io.Writer) { writeDiagnosis(to, a.Width(), x) })
}

// areas lists the areas of checks in the order of the output.
var areas = []struct{ name, title string }{
	{"project", "Project"}, {"provider", "Providers"}, {"plugins", "Plugins"}, {"isolation", "Isolation"}, {"machine", "Machine"},
}

// diagnose runs all checks, the slow checks concurrently.
func (v *Doctor) diagnose(ctx context.Context, a *cli.App) (document.Diagnosis, error) {
	x := document.Diagnosis{Provider: v.Provider}
	work, err := filepath.Abs(a.Getenv("PROJECT_ROOT"))
	if err != nil {
		return x, err
	}
	x.Checks = append(
		x.Checks,
		doctor.Directory("project", ".claude", filepath.Join(work, ".claude")),
		doctor.Directory("project", "temporary files", os.TempDir()),
	)
	err = a.WithEngine(ctx, func(e *engine.Engine) error {
		var programs, plugins, isolation []doctor.Check
		var providers providerChecks
		var wait sync.WaitGroup
		wait.Go(func() { programs = machineChecks(ctx) })
		wait.Go(func() { plugins = checkPlugins(ctx, e) })
		wait.Go(func() { isolation = checkIsolation(ctx, e) })
		wait.Go(func() { providers.all, providers.err = e.Authoring().CheckProviders(ctx) })
		wait.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		checks, err := providers.checks(&x)
		x.Checks = slices.Concat(x.Checks, checks, plugins, isolation, programs)
		return err
	})
	var usage *cli.BadUsage
	switch {
	case errors.As(err, &usage), ctx.Err() != nil:
		return x, err
	case err != nil: // an engine that does not open is a finding
		x.Checks = append(x.Checks, unusableChecks(err)...)
	}
	return x, nil
}

// unusableChecks returns the checks for an engine that does not open: one for each fault of the settings, or one for another
// error.
func unusableChecks(err error) []doctor.Check {
	var faults engine.Diagnostics
	if !errors.As(err, &faults) {
		f := cli.NewFault(err)
		return []doctor.Check{{Area: "project", Name: "kernel", State: doctor.Bad, Result: f.Message, Do: f.Hint}}
	}
	var checks []doctor.Check
	for _, d := range faults {
		state := doctor.Note
		if d.Severity.String() == "error" {
			state = doctor.Bad
		}
		checks = append(checks, doctor.Check{
			Area: "project", Name: "settings", State: state, Do: d.Hint,
			Result: fmt.Sprintf("%s: %s (%s)", cli.Position(d.File, d.Line, d.Column), d.Message, d.Code),
		})
	}
	return checks
}

func machineChecks(ctx context.Context) []doctor.Check {
	return []doctor.Check{
		doctor.Program(ctx, "git", "--version", "install it (apt install git): agents use it, and deliveries as a commit or a patch need it"),
		doctor.Program(ctx, "tmux", "-V", "install it (apt install tmux), or give --foreground or --detach: without these flags, loop and pipeline run in tmux"),
		doctor.OpenFiles(),
	}
}

// checkPlugins lists the usable and the unusable plugins.
func checkPlugins(ctx context.Context, e *engine.Engine) []doctor.Check {
	listing, err := cli.ListPlugins(ctx, e)
	if err != nil {
		return []doctor.Check{{Area: "plugins", Name: "plugins", State: doctor.Bad, Result: err.Error()}}
	}
	var healthy []string
	var broken []doctor.Check
	for _, p := range plugins.Reports(listing) {
		switch {
		case p.Fault != nil:
			broken = append(broken, doctor.Check{Area: "plugins", Name: p.Name, State: doctor.Note, Result: "cannot be used: " + p.Fault.Message, Do: p.Fault.Hint})
		case p.Path != "":
			healthy = append(healthy, p.Name)
		}
	}
	for _, i := range listing.Ignored {
		if strings.HasPrefix(i.Reason, "shadowed by ") { // by a plugin of the same name, as intended
			continue
		}
		broken = append(broken, doctor.Check{Area: "plugins", Name: filepath.Base(i.Path), State: doctor.Note, Result: fmt.Sprintf("%s is %s", i.Path, i.Reason)})
	}
	found := doctor.Check{Area: "plugins", Name: "found", State: doctor.OK, Result: strings.Join(healthy, ", ")}
	if len(healthy) == 0 {
		found.State, found.Result, found.Do = doctor.Bad, "none", fmt.Sprintf("`%s plugins list` shows the searched directories", cli.Program)
	}
	return append([]doctor.Check{found}, broken...)
}

// checkIsolation lists the available modes of isolation.
func checkIsolation(ctx context.Context, e *engine.Engine) []doctor.Check {
	var checks []doctor.Check
	for _, i := range e.Authoring().CheckIsolation(ctx) {
		c := doctor.Check{Area: "isolation", Name: i.Mode, State: doctor.OK}
		if i.Failure != nil {
			c.State, c.Result, c.Do = doctor.Note, i.Failure.Message, i.Failure.Hint
			checks = append(checks, c)
			continue
		}
		var by []string
		if i.Landlock > 0 {
			by = append(by, fmt.Sprintf("Landlock with ABI %d", i.Landlock))
		}
		if i.Bubblewrap != "" {
			by = append(by, "bubblewrap "+i.Bubblewrap)
		}
		c.Result = "by " + strings.Join(append(by, "a filter of system calls"), ", ") + cli.UnprotectedText(i.Mode, i.Guarded)
		checks = append(checks, c)
		if i.NoLoopback != "" {
			checks = append(checks, doctor.Check{
				Area: "isolation", Name: i.Mode + " network", State: doctor.Note, Result: i.NoLoopback,
				Do: i.NoLoopbackHint + ". Else tests that listen on 127.0.0.1 need " + failure.Option("sandbox-network") + " on",
			})
		}
	}
	return checks
}

// providerChecks is the result of [authoring.Project.CheckProviders].
type providerChecks struct {
	all []authoring.ProviderCheck
	err error
}

// checks returns the checks of providers. A fault of the provider for runs is bad, a fault of another provider a note.
func (p providerChecks) checks(x *document.Diagnosis) ([]doctor.Check, error) {
	if p.err != nil {
		return nil, p.err
	}
	var names []string
	wanted := -1
	for i, c := range p.all {
		names = append(append(names, c.Name), c.Aliases...)
		if x.Provider == c.Name || slices.Contains(c.Aliases, x.Provider) || x.Provider == "" && c.Default {
			wanted = i
		}
	}
	if wanted < 0 {
		return nil, cli.UnknownProvider(x.Provider, names)
	}
	x.Provider = p.all[wanted].Name
	var checks []doctor.Check
	for i, c := range p.all {
		if c.Name != commandProvider {
			checks = append(checks, providerCheck(c, i == wanted)...)
		}
	}
	return checks, nil
}

// commandProvider is the provider that runs commands of pipelines, not agents.
const commandProvider = "command"

// providerCheck returns a check for a provider, and a check for each of its findings.
func providerCheck(p authoring.ProviderCheck, wanted bool) []doctor.Check {
	worst := doctor.Note
	if wanted {
		worst = doctor.Bad
	}
	c := doctor.Check{Area: "provider", Name: p.Name, State: doctor.OK, Result: "ready"}
	if f := p.Failure; f != nil {
		c.State, c.Result, c.Do = worst, f.Message, f.Hint
		if f.Kind == failure.ProviderMissing && !wanted {
			c.Result = "not installed"
		}
		return []doctor.Check{c}
	}
	var fine []string
	checks := []doctor.Check{}
	for _, f := range p.Findings {
		switch f.State {
		case sdk.FindingOK:
			fine = append(fine, f.About+" "+f.Detail)
		case sdk.FindingBad:
			checks = append(checks, doctor.Check{Area: "provider", Name: p.Name + " " + f.About, State: worst, Result: f.Detail, Do: f.Hint})
		default:
			checks = append(checks, doctor.Check{Area: "provider", Name: p.Name + " " + f.About, State: doctor.Note, Result: f.Detail, Do: f.Hint})
		}
	}
	if len(fine) > 0 {
		c.Result = strings.Join(fine, "; ")
	} else if len(checks) > 0 {
		return checks
	}
	return append([]doctor.Check{c}, checks...)
}

func writeDiagnosis(to io.Writer, width int, x document.Diagnosis) {
	page, wide := cli.InfoPage{To: to, Width: width}, 0
	for _, c := range x.Checks {
		wide = max(wide, len(c.Name))
	}
	margin := 2 + len("note  ")
	if page.Width == 0 || page.Width >= margin+wide+2+cli.MinValueWidth {
		margin += wide + 2
	}
	for _, area := range areas {
		title := area.title
		for _, c := range x.Checks {
			if c.Area != area.name {
				continue
			}
			if title != "" {
				fmt.Fprintln(to, title)
				title = ""
			}
			begin := fmt.Sprintf("  %-4s  %-*s  ", c.State, wide, c.Name)
			if len(begin) > margin { // too narrow for two columns
				page.Text("  ", string(c.State)+" "+c.Name)
				begin = strings.Repeat(" ", margin)
			}
			page.HangingText(begin, strings.Repeat(" ", margin), c.Result)
			if c.Do != "" {
				page.Text(strings.Repeat(" ", margin), "→ "+c.Do)
			}
		}
	}
	fmt.Fprintln(to)
	page.Text("", resultText(x))
}

// resultText returns the result of all checks on one line.
func resultText(x document.Diagnosis) string {
	if x.Ready {
		return fmt.Sprintf("Runs by provider %s can start.", x.Provider)
	}
	by, more := "", ""
	if x.Provider != "" {
		by = " by provider " + x.Provider
	}
	if x.Provider != "mock" {
		more = " `--provider mock` needs no agent."
	}
	return fmt.Sprintf("Runs%s cannot start: see the faults marked bad.%s", by, more)
}
