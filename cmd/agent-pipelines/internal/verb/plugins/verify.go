package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// pluginsVerifyVerb is the verb `plugins verify <binary>`.
type pluginsVerifyVerb struct {
	Plugin string   `arg:"" help:"The plugin's binary, or the name of a plugin in plugins list."`
	Only   []string `placeholder:"ROW" help:"Check only these rows and the rows that they need; repeatable."`
	Cases  string   `type:"path" placeholder:"FILE" help:"File of the author's cases (default <binary>.verify.json or verify.json beside the binary)."`
	Prompt string   `placeholder:"TEXT" help:"A prompt that must succeed, for a provider without cases."`
	Model  string   `placeholder:"NAME" help:"Model for --prompt."`
	Config string   `placeholder:"JSON" help:"Configuration for --prompt, a JSON object."`
}

// Help returns the text below the usage.
func (pluginsVerifyVerb) Help() string {
	return "The command starts the plugin as a run would, and checks it against the plugin protocol, row by row. It executes the binary " +
		"without a lock and without trust. It makes attempts and runs actions only if the cases or --prompt describe them. " +
		"Exit code 0: no row failed; 1: a row failed. See docs/writing-a-plugin.md for the cases and docs/plugins.md for --json."
}

// Run implements [cli.Verb].
func (v *pluginsVerifyVerb) Run(ctx context.Context, a *cli.App) error {
	target, err := v.target(ctx, a)
	if err != nil {
		return err
	}
	options, err := v.options(target)
	if err != nil {
		return err
	}
	page := verifyPage{cli.InfoPage{To: a.Stdout, Width: cmp.Or(a.Width(), verifyWidth)}, a.Verbose}
	if !a.JSON && !a.Quiet {
		options.OnRow = page.row
	}
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	report, err := verify.Run(ctx, target, options)
	switch {
	case ctx.Err() != nil: // every process that Run started has ended
		return context.Cause(ctx)
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
	return nil
}

// target returns the plugin to verify: a file, or a listed plugin by its name or by the name of one of its components.
func (v *pluginsVerifyVerb) target(ctx context.Context, a *cli.App) (target verify.Target, err error) {
	if info, err := os.Stat(v.Plugin); err == nil && !info.IsDir() || strings.ContainsRune(v.Plugin, os.PathSeparator) {
		return verify.Target{Path: v.Plugin}, nil
	}
	err = a.WithEngine(ctx, func(e *engine.Engine) error {
		listing, err := e.PluginHost().List(ctx)
		if err != nil {
			return err
		}
		all := Reports(listing)
		i := slices.IndexFunc(all, func(p document.Plugin) bool { return p.Path != "" && (p.Name == v.Plugin || p.Offers(v.Plugin)) })
		if i < 0 {
			return unknownPlugin(v.Plugin, all, listing)
		}
		target = verify.Target{Path: all[i].Path, Name: all[i].Name}
		if all[i].Source == string(pluginhost.FromBundle) {
			target.Args = cli.ServeArguments(all[i].Name)
		}
		return nil
	})
	return target, err
}

// options returns the options from the author's cases and the flags.
func (v *pluginsVerifyVerb) options(target verify.Target) (verify.Options, error) {
	options := verify.Options{Only: v.Only, Host: hostCommand}
	file := v.Cases
	if file == "" && len(target.Args) == 0 {
		file = verify.FindCases(target.Path)
	}
	if file != "" {
		cases, err := verify.ReadCases(file)
		if err != nil {
			return options, cli.UsageError(err.Error(), "see docs/writing-a-plugin.md for the format")
		}
		options.Cases = cases
	}
	if v.Prompt == "" {
		if v.Model != "" || v.Config != "" {
			return options, cli.UsageError("--model and --config need --prompt", "without a prompt no attempt is made")
		}
		return options, nil
	}
	if v.Config != "" && !json.Valid([]byte(v.Config)) {
		return options, cli.UsageError("--config is not JSON: "+v.Config, "write an object such as '{\"delay_ms\": 5}'")
	}
	options.Normal = &verify.Attempt{Prompt: v.Prompt, Model: v.Model, Config: json.RawMessage(v.Config)}
	return options, nil
}

// hostCommand returns the command that starts this program as a plugin host, which the verification kills.
func hostCommand() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "plugin", "host")
}

// pluginHostVerb is the hidden verb `plugin host`, which hostCommand starts.
type pluginHostVerb struct{}

// Run implements [cli.Verb].
func (pluginHostVerb) Run(ctx context.Context, a *cli.App) error {
	if a.Stdin == nil {
		return errors.New("only this program starts plugin host")
	}
	return verify.ServeHost(ctx, a.Stdin, a.Stdout)
}

// verifyWidth is the width of the table in columns if the terminal's width is unknown.
const verifyWidth = 80

// verifyPage writes each row when it ends, and a summary.
type verifyPage struct {
	cli.InfoPage
	verbose bool
}

// resultWords maps the results to their text in the table.
var resultWords = map[verify.Result]string{verify.Pass: "pass", verify.Fail: "FAIL", verify.NotApplicable: "-"}

func (p verifyPage) row(r verify.Row) {
	title := r.Title
	if r.Component != "" {
		title = r.Component + ": " + title
	}
	const margin = "                         "
	p.HangingText(fmt.Sprintf("%-5s %-18s ", resultWords[r.Result], r.ID), margin, title)
	if r.Seen != "" && (r.Result != verify.Pass || p.verbose) {
		p.HangingText(margin+"seen: ", margin+"      ", r.Seen)
	}
	if r.Do != "" {
		label := "do: "
		if r.Result == verify.NotApplicable {
			label = "give: "
		}
		p.HangingText(margin+label, margin+strings.Repeat(" ", len(label)), r.Do)
	}
}

// summary writes the counts of rows. alone means that no rows precede it.
func (p verifyPage) summary(r verify.Report, alone bool) {
	if !alone {
		fmt.Fprintln(p.To)
	}
	name := strings.TrimSpace(cmp.Or(r.Plugin, "The plugin") + " " + r.PluginVersion)
	p.Text("", fmt.Sprintf("%s: %d passed, %d failed, %d not applicable, in %.1f s", name, r.Passed, r.Failed, r.NotApplicable,
		float64(r.Milliseconds)/1000))
}
