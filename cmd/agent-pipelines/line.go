package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/author"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/decide"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/machine"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
)

// Commands is the grammar of the command line: the global flags and one field for each verb.
type Commands struct {
	cli.GlobalFlags `group:"Flags of every verb:"`

	Init       author.Init        `cmd:"" help:"Set up a project or an example."`
	Stage      run.Stage          `cmd:"" name:"<stage>" help:"Run a stage (short for loop <stage>)."`
	Loop       run.Loop           `cmd:"" help:"Run a stage as a loop of iterations."`
	Pipeline   run.Pipeline       `cmd:"" help:"Run a pipeline."`
	Start      run.Start          `cmd:"" help:"Run a pipeline with a request."`
	Design     run.Design         `cmd:"" help:"Design a specification (short for start design)."`
	Implement  run.Implement      `cmd:"" name:"implement" help:"Implement a request (short for start implement)."`
	Fix        run.Fix            `cmd:"" help:"Fix a fault (short for start fix)."`
	Resume     run.Resume         `cmd:"" help:"Resume a paused, failed or crashed session."`
	Review     run.Review         `cmd:"" help:"Review the work of a session again."`
	Attach     run.Attach         `cmd:"" help:"Show a running session until it ends."`
	Watch      look.Watch         `cmd:"" help:"Watch and control a session in full screen."`
	Pause      decide.Pause       `cmd:"" help:"Pause a running session."`
	Abort      decide.Abort       `cmd:"" help:"End a session for good."`
	Approve    decide.Approve     `cmd:"" help:"Approve the question of a session."`
	Reject     decide.Reject      `cmd:"" help:"Reject the question of a session."`
	Answer     decide.Answer      `cmd:"" help:"Answer a question: approve, reject, or feedback."`
	Questions  look.Questions     `cmd:"" name:"questions" help:"Show the open questions of sessions."`
	Feedback   decide.Feedback    `cmd:"" help:"Add text to a session's next prompts."`
	Status     look.Status        `cmd:"" help:"Show the status of a session."`
	Why        look.Why           `cmd:"" help:"Explain a session's status and next steps."`
	Report     look.Report        `cmd:"" help:"Write a session's report as one HTML file."`
	Diff       look.Diff          `cmd:"" help:"Compare two sessions."`
	Export     look.Export        `cmd:"" help:"Pack a session into an archive without secrets."`
	Artifacts  look.Artifacts     `cmd:"" name:"artifacts" help:"Show the artifacts of a session's stages."`
	Tail       look.Tail          `cmd:"" aliases:"logs" help:"Print and follow a session's events (also: logs)."`
	Repair     decide.Repair      `cmd:"" help:"Repair a session with damaged files."`
	List       look.List          `cmd:"" aliases:"runs" help:"List the sessions of the project (also: runs)."`
	Sessions   look.Session       `cmd:"" name:"session" help:"Show, verify and remove sessions."`
	Metrics    look.Metrics       `cmd:"" help:"Show the time, tokens and cost of sessions."`
	Lint       author.Lint        `cmd:"" help:"Check stages and pipelines."`
	Stages     author.Stages      `cmd:"" help:"List, show, check and create stages."`
	Pipelines  author.Pipelines   `cmd:"" name:"pipelines" help:"List, show and copy pipelines."`
	DryRun     author.DryRun      `cmd:"" name:"dry-run" help:"Preview a run without running it."`
	Graph      author.Graph       `cmd:"" help:"Draw a pipeline."`
	CrashTest  author.CrashTest   `cmd:"" name:"crashtest" help:"Crash-test a pipeline: kill and resume mock runs."`
	Config     machine.Config     `cmd:"" help:"Show or change the settings of config.yaml."`
	Schema     author.Schema      `cmd:"" help:"Print JSON Schemas of files and --json output."`
	Plugins    plugins.Plugins    `cmd:"" help:"List, install, lock, verify and remove plugins."`
	Plugin     plugins.Plugin     `cmd:"" hidden:"" help:"Serve a bundled plugin."`
	TmuxStart  run.TmuxStart      `cmd:"" name:"tmux-start" hidden:"" help:"Run a session in a tmux pane."`
	RunSession run.ChildSession   `cmd:"" name:"run-session" hidden:"" help:"Run a session for another process."`
	Doctor     machine.Doctor     `cmd:"" help:"Check whether runs can start."`
	MCP        machine.MCP        `cmd:"" name:"mcp" help:"Serve the verbs as MCP tools for agents."`
	Trust      machine.Trust      `cmd:"" help:"Trust the plugins and settings of a directory."`
	Keys       machine.Keys       `cmd:"" help:"Show your signing key; trust keys of others."`
	Explain    machine.Explain    `cmd:"" help:"Explain an error code and its remedy."`
	Completion machine.Completion `cmd:"" name:"completion" help:"Print the completion script of a shell."`
	Complete   machine.Complete   `cmd:"" name:"__complete" hidden:"" help:"Print completions of a command line."`
	Man        machine.Man        `cmd:"" name:"man-pages" hidden:"" help:"Write the manual pages."`
	Version    machine.Version    `cmd:"" help:"Print the version."`
	Help       machine.Help       `cmd:"" help:"Show help on a verb, exit-codes or environment."`
}

// newParser returns the parser of the grammar. It panics on a mistake in the grammar.
func newParser(c cli.Console) *kong.Kong {
	parser := buildParser(c)
	illustrate(parser.Model.Node, "")
	return parser
}

// newVerbParser returns the parser of the grammar with this verb alone, and nil if no verb has the name. It has no help. To
// build the whole grammar would take a quarter of the time of a short command.
func newVerbParser(c cli.Console, verb string) *kong.Kong {
	var others []string
	grammar := reflect.TypeFor[Commands]()
	for i := range grammar.NumField() {
		field := grammar.Field(i)
		name, aliases := cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)), strings.Split(field.Tag.Get("aliases"), ",")
		if !field.Anonymous && name != verb && !slices.Contains(aliases, verb) {
			others = append(others, field.Name)
		}
	}
	if verb == "" || verb == cli.StageCommand || len(others) == grammar.NumField()-1 {
		return nil
	}
	return buildParser(c, kong.IgnoreFields(`^Commands\.(?:`+strings.Join(others, "|")+`)$`))
}

func buildParser(c cli.Console, options ...kong.Option) *kong.Kong {
	return kong.Must(&Commands{}, append(options,
		kong.Name(cli.Program),
		kong.Description("Run pipelines of coding agents, durably. See also `help exit-codes` and `help environment`."),
		kong.NoDefaultHelp(),
		kong.Writers(c.Stdout, c.Stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Exit(func(int) {}),
	)...)
}
