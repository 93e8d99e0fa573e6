package main

import (
	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/author"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/decide"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/machine"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
)

// line is the grammar of the command line.
type line struct {
	cli.GlobalFlags `group:"Flags of every verb:"`

	Init     author.Init        `cmd:"" help:"Make a project ready: write a first pipeline, or a runnable example of the gallery."`
	Stage    run.Stage          `cmd:"" name:"<stage>" help:"Run one stage as a loop: short for loop <stage>."`
	Loop     run.Loop           `cmd:"" help:"Run one stage as a loop of iterations."`
	Pipeline run.Pipeline       `cmd:"" help:"Run a pipeline."`
	Start    run.Start          `cmd:"" help:"Give a pipeline a request, here in this terminal."`
	Design   run.Design         `cmd:"" help:"Have a request worked out to a specification: short for start design."`
	Build    run.Implement      `cmd:"" name:"implement" help:"Have a request fulfilled, test first: short for start implement."`
	Fix      run.Fix            `cmd:"" help:"Have something mended: short for start fix."`
	Resume   run.Resume         `cmd:"" help:"Go on with a paused, failed or crashed session."`
	Review   run.Review         `cmd:"" help:"Have the work of a session reviewed once more."`
	Attach   run.Attach         `cmd:"" help:"Show a running session until it ends."`
	Watch    look.Watch         `cmd:"" help:"Show a session full screen, wherever it runs: its nodes and what they do; answer, pause."`
	Pause    decide.Pause       `cmd:"" help:"Ask a running session to pause."`
	Abort    decide.Abort       `cmd:"" help:"End a session for good."`
	Approve  decide.Approve     `cmd:"" help:"Approve what a session asks about."`
	Reject   decide.Reject      `cmd:"" help:"Reject what a session asks about: with feedback the stage is sent back, without it the session ends."`
	Answer   decide.Answer      `cmd:"" help:"Answer a question: approve, reject, or feedback."`
	Ask      look.Questions     `cmd:"" name:"questions" help:"Show what sessions ask."`
	Feedback decide.Feedback    `cmd:"" help:"Tell the agents of a session something in their next prompts."`
	Status   look.Status        `cmd:"" help:"Show where a session is."`
	Why      look.Why           `cmd:"" help:"Tell why a session is where it is, what led to that, and what to do next."`
	Report   look.Report        `cmd:"" help:"Make a page of a session: one HTML file that needs nothing else."`
	Diff     look.Diff          `cmd:"" help:"Put what two sessions came to beside each other."`
	Export   look.Export        `cmd:"" help:"Pack the files of a session into one archive, without secrets."`
	Made     look.Artifacts     `cmd:"" name:"artifacts" help:"Show what the stages of a session have made for each other."`
	Tail     look.Tail          `cmd:"" aliases:"logs" help:"Print a session's events and follow them (also: logs)."`
	Repair   decide.Repair      `cmd:"" help:"Make a session usable again whose files are damaged."`
	List     look.List          `cmd:"" aliases:"runs" help:"List the sessions of the project (also: runs)."`
	Sessions look.Session       `cmd:"" name:"session" help:"Tell the way that a session took; remove sessions."`
	Metrics  look.Metrics       `cmd:"" help:"Show what a session took: time, tokens, cost, retries, cycles."`
	Lint     author.Lint        `cmd:"" help:"Check stages and pipelines."`
	Stages   author.Stages      `cmd:"" help:"Show which stages there are, and what they come to; check them; write a new one."`
	Flows    author.Pipelines   `cmd:"" name:"pipelines" help:"Show which pipelines there are, and print one."`
	DryRun   author.DryRun      `cmd:"" help:"Show what a run would be, without running it."`
	Graph    author.Graph       `cmd:"" help:"Draw a pipeline: its nodes, and where they lead."`
	Crash    author.Crashtest   `cmd:"" name:"crashtest" help:"Kill runs of a pipeline with mock agents, and see whether each comes to the same end."`
	Config   machine.Config     `cmd:"" help:"Show or change the settings of config.yaml, and which file says them."`
	Schema   author.Schema      `cmd:"" help:"Print the JSON Schema of a file that people write, for editors."`
	Plugins  plugins.Plugins    `cmd:"" help:"Show which plugins there are; install, lock and remove them."`
	Plugin   plugins.Plugin     `cmd:"" hidden:"" help:"Serve a plugin that the command carries."`
	InTmux   run.TmuxStart      `cmd:"" name:"tmux-start" hidden:"" help:"Run a session in the tmux pane that was made for it."`
	Doctor   machine.Doctor     `cmd:"" help:"Look whether runs can start: providers, plugins, isolation, directories, the machine; and say what to do."`
	MCP      machine.Mcp        `cmd:"" name:"mcp" help:"Let agents run pipelines: the verbs as tools of the Model Context Protocol."`
	Trust    machine.Trust      `cmd:"" help:"Trust a directory: its plugins and all its settings may be used; or take that back."`
	Explain  machine.Explain    `cmd:"" help:"Explain the code of an error, and what to do about it."`
	Tab      machine.Completion `cmd:"" name:"completion" help:"Print what lets the tab key of a shell complete the command line: bash, zsh or fish."`
	Complete machine.Complete   `cmd:"" name:"__complete" hidden:"" help:"Say what may stand in place of the last word of a line."`
	Man      machine.Man        `cmd:"" name:"man-pages" hidden:"" help:"Write the manual for man: a page of the command, and one of each verb."`
	Version  machine.Version    `cmd:"" help:"Print the version."`
	Help     machine.Help       `cmd:"" help:"Explain a verb or a subject: exit-codes, environment."`
}

// newParser builds the parser. It cannot fail but by a mistake in the grammar.
func newParser(l *line, c cli.Console) *kong.Kong {
	parser := kong.Must(l,
		kong.Name(cli.Program),
		kong.Description("Run pipelines of coding agents, durably. `help exit-codes` and `help environment` say more."),
		kong.NoDefaultHelp(),
		kong.Writers(c.Stdout, c.Stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Exit(func(int) {}),
	)
	illustrate(parser.Model.Node, "")
	return parser
}
