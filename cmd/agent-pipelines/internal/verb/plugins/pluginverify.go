package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// pluginsVerifyVerb is `plugins verify <binary>`.
type pluginsVerifyVerb struct {
	Plugin string   `arg:"" help:"The plugin's binary, or the name of a plugin that plugins list knows."`
	Only   []string `placeholder:"ROW" help:"Try these rows alone, and what they need. May be given several times."`
	Cases  string   `type:"path" placeholder:"FILE" help:"The author's cases. Default: <binary>.verify.json or verify.json beside the binary."`
	Prompt string   `placeholder:"TEXT" help:"A prompt that must succeed: makes attempts with a provider for which the cases have none."`
	Model  string   `placeholder:"NAME" help:"The model for --prompt."`
	Config string   `placeholder:"JSON" help:"The configuration for --prompt, an object."`
	JUnit  string   `name:"junit" type:"path" placeholder:"FILE" help:"Also write the report as JUnit XML, for a CI server."`
}

// Help says what running the verb means.
func (pluginsVerifyVerb) Help() string {
	return "Starts the plugin as a run would, and holds it to the plugin protocol, row by row. It runs the binary: that is your own act, " +
		"and needs neither lock nor trust. No attempt is made and no action runs unless the cases or --prompt say how. " +
		"Exit code 0: no row failed; 1: a row failed. docs/writing-a-plugin.md says what the cases are, docs/plugins.md what --json prints."
}

func (v *pluginsVerifyVerb) Run(ctx context.Context, a *cli.App) error {
	target, err := v.target(ctx, a)
	if err != nil {
		return err
	}
	options, err := v.options(target)
	if err != nil {
		return err
	}
	page := verifyPage{cli.InfoPage{To: a.Stdout, Width: a.Width()}, a.Verbose}
	if page.Width == 0 {
		page.Width = verifyWidth
	}
	if !a.JSON && !a.Quiet {
		options.Done = page.row
	}
	untilInt, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	untilTerm, stop := signal.NotifyContext(untilInt, syscall.SIGTERM)
	defer stop()
	report, err := verify.Run(untilTerm, target, options)
	switch { // whichever it was, everything that was started has ended
	case untilInt.Err() != nil:
		return &cli.Interrupted{Signal: syscall.SIGINT}
	case untilTerm.Err() != nil:
		return &cli.Interrupted{Signal: syscall.SIGTERM}
	case err != nil:
		return cli.UsageError(err.Error(), "see `%s plugins verify --help`", cli.Program)
	}
	if a.JSON {
		a.Document(report)
	} else {
		page.summary(report, a.Quiet)
	}
	if !report.OK() {
		a.Code = cli.ExitFailed
	}
	if v.JUnit != "" {
		return writeJUnit(v.JUnit, report)
	}
	return nil
}

// target is the plugin that is meant: a file, or a plugin by its name.
func (v *pluginsVerifyVerb) target(ctx context.Context, a *cli.App) (target verify.Target, err error) {
	if info, err := os.Stat(v.Plugin); err == nil && !info.IsDir() || strings.ContainsRune(v.Plugin, os.PathSeparator) {
		return verify.Target{Path: v.Plugin}, nil
	}
	err = a.Use(ctx, func(e *engine.Engine) error {
		listing, err := e.Plugins(ctx)
		if err != nil {
			return err
		}
		all := Reports(listing)
		i := slices.IndexFunc(all, func(p cli.PluginReport) bool { return p.Path != "" && (p.Name == v.Plugin || p.Offers(v.Plugin)) })
		if i < 0 {
			return unknownPlugin(v.Plugin, all, listing)
		}
		target = verify.Target{Path: all[i].Path, Name: all[i].Name}
		if all[i].Source == engine.SourceBundled {
			target.Args = cli.Serving(all[i].Name)
		}
		return nil
	})
	return target, err
}

// options are the author's cases and what the line says.
func (v *pluginsVerifyVerb) options(target verify.Target) (verify.Options, error) {
	options := verify.Options{Only: v.Only, Host: hostCommand}
	file := v.Cases
	if file == "" && len(target.Args) == 0 {
		file = verify.FindCases(target.Path)
	}
	if file != "" {
		cases, err := verify.ReadCases(file)
		if err != nil {
			return options, cli.UsageError(err.Error(), "docs/writing-a-plugin.md says what the file may hold")
		}
		options.Cases = cases
	}
	if v.Prompt == "" {
		if v.Model != "" || v.Config != "" {
			return options, cli.UsageError("--model and --config go with --prompt", "without a prompt no attempt is made")
		}
		return options, nil
	}
	if v.Config != "" && !json.Valid([]byte(v.Config)) {
		return options, cli.UsageError("--config is no JSON: "+v.Config, "write an object such as '{\"delay_ms\": 5}'")
	}
	options.Normal = &verify.Attempt{Prompt: v.Prompt, Model: v.Model, Config: json.RawMessage(v.Config)}
	return options, nil
}

// hostCommand starts this program as a host that can be killed.
func hostCommand() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "plugin", "host")
}

// pluginHostVerb is `plugin host`, as which the command starts itself to be killed.
type pluginHostVerb struct{}

func (pluginHostVerb) Run(ctx context.Context, a *cli.App) error {
	if a.Stdin == nil {
		return errors.New("the command starts this itself")
	}
	return verify.ServeHost(ctx, a.Stdin, a.Stdout)
}

// verifyWidth is how many columns the table has where nobody says how many there are.
const verifyWidth = 80

// verifyPage writes rows as they end, and what they amount to.
type verifyPage struct {
	cli.InfoPage
	verbose bool
}

// words are the results as the table has them.
var words = map[verify.Result]string{verify.Pass: "pass", verify.Fail: "FAIL", verify.NotApplicable: "-"}

func (p verifyPage) row(r verify.Row) {
	title := r.Title
	if r.Component != "" {
		title = r.Component + ": " + title
	}
	const margin = "                         "
	p.Hanging(fmt.Sprintf("%-5s %-18s ", words[r.Result], r.ID), margin, title)
	if r.Seen != "" && (r.Result != verify.Pass || p.verbose) {
		p.Hanging(margin+"seen: ", margin+"      ", r.Seen)
	}
	if r.Do != "" {
		label := "do: "
		if r.Result == verify.NotApplicable {
			label = "give: "
		}
		p.Hanging(margin+label, margin+strings.Repeat(" ", len(label)), r.Do)
	}
}

// summary counts the rows; alone, it stands by itself.
func (p verifyPage) summary(r verify.Report, alone bool) {
	if !alone {
		fmt.Fprintln(p.To)
	}
	name := strings.TrimSpace(cmp.Or(r.Plugin, "The plugin") + " " + r.PluginVersion)
	p.Text("", fmt.Sprintf("%s: %d passed, %d failed, %d not applicable, in %.1f s", name, r.Passed, r.Failed, r.NotApplicable,
		float64(r.Milliseconds)/1000))
}
