package main

import (
	"github.com/alecthomas/kong"
)

// line is the grammar of the command line.
type line struct {
	settings `group:"Flags of every verb:"`

	Init     initVerb       `cmd:"" help:"Make a project ready: write a first pipeline, or a runnable example of the gallery."`
	Stage    stageVerb      `cmd:"" name:"<stage>" help:"Run one stage as a loop: short for loop <stage>."`
	Loop     loopVerb       `cmd:"" help:"Run one stage as a loop of iterations."`
	Pipeline pipelineVerb   `cmd:"" help:"Run a pipeline."`
	Start    startVerb      `cmd:"" help:"Give a pipeline a request, here in this terminal."`
	Design   designVerb     `cmd:"" help:"Have a request worked out to a specification: short for start design."`
	Build    implementVerb  `cmd:"" name:"implement" help:"Have a request fulfilled, test first: short for start implement."`
	Fix      fixVerb        `cmd:"" help:"Have something mended: short for start fix."`
	Resume   resumeVerb     `cmd:"" help:"Go on with a paused, failed or crashed session."`
	Review   reviewVerb     `cmd:"" help:"Have the work of a session reviewed once more."`
	Attach   attachVerb     `cmd:"" help:"Show a running session until it ends."`
	Watch    watchVerb      `cmd:"" help:"Show a session full screen, wherever it runs: its nodes and what they do; answer, pause."`
	Pause    pauseVerb      `cmd:"" help:"Ask a running session to pause."`
	Abort    abortVerb      `cmd:"" help:"End a session for good."`
	Approve  approveVerb    `cmd:"" help:"Approve what a session asks about."`
	Reject   rejectVerb     `cmd:"" help:"Reject what a session asks about: with feedback the stage is sent back, without it the session ends."`
	Answer   answerVerb     `cmd:"" help:"Answer a question: approve, reject, or feedback."`
	Ask      questionsVerb  `cmd:"" name:"questions" help:"Show what sessions ask."`
	Feedback feedbackVerb   `cmd:"" help:"Tell the agents of a session something in their next prompts."`
	Status   statusVerb     `cmd:"" help:"Show where a session is."`
	Why      whyVerb        `cmd:"" help:"Tell why a session is where it is, what led to that, and what to do next."`
	Report   reportVerb     `cmd:"" help:"Make a page of a session: one HTML file that needs nothing else."`
	Diff     diffVerb       `cmd:"" help:"Put what two sessions came to beside each other."`
	Export   exportVerb     `cmd:"" help:"Pack the files of a session into one archive, without secrets."`
	Made     artifactsVerb  `cmd:"" name:"artifacts" help:"Show what the stages of a session have made for each other."`
	Tail     tailVerb       `cmd:"" aliases:"logs" help:"Print a session's events and follow them (also: logs)."`
	Repair   repairVerb     `cmd:"" help:"Make a session usable again whose files are damaged."`
	List     listVerb       `cmd:"" aliases:"runs" help:"List the sessions of the project (also: runs)."`
	Sessions sessionVerb    `cmd:"" name:"session" help:"Tell the way that a session took; remove sessions."`
	Metrics  metricsVerb    `cmd:"" help:"Show what a session took: time, tokens, cost, retries, cycles."`
	Lint     lintVerb       `cmd:"" help:"Check stages and pipelines."`
	Stages   stagesVerb     `cmd:"" help:"Show which stages there are, and what they come to; check them; write a new one."`
	Flows    pipelinesVerb  `cmd:"" name:"pipelines" help:"Show which pipelines there are, and print one."`
	DryRun   dryRunVerb     `cmd:"" help:"Show what a run would be, without running it."`
	Graph    graphVerb      `cmd:"" help:"Draw a pipeline: its nodes, and where they lead."`
	Crash    crashtestVerb  `cmd:"" name:"crashtest" help:"Kill runs of a pipeline with mock agents, and see whether each comes to the same end."`
	Config   configVerb     `cmd:"" help:"Show or change the settings of config.yaml, and which file says them."`
	Schema   schemaVerb     `cmd:"" help:"Print the JSON Schema of a file that people write, for editors."`
	Plugins  pluginsVerb    `cmd:"" help:"Show which plugins there are; install, lock and remove them."`
	Plugin   pluginVerb     `cmd:"" hidden:"" help:"Serve a plugin that the command carries."`
	InTmux   tmuxStartVerb  `cmd:"" name:"tmux-start" hidden:"" help:"Run a session in the tmux pane that was made for it."`
	Doctor   doctorVerb     `cmd:"" help:"Look whether runs can start: providers, plugins, isolation, directories, the machine; and say what to do."`
	MCP      mcpVerb        `cmd:"" name:"mcp" help:"Let agents run pipelines: the verbs as tools of the Model Context Protocol."`
	Trust    trustVerb      `cmd:"" help:"Trust a directory: its plugins and all its settings may be used; or take that back."`
	Explain  explainVerb    `cmd:"" help:"Explain the code of an error, and what to do about it."`
	Tab      completionVerb `cmd:"" name:"completion" help:"Print what lets the tab key of a shell complete the command line: bash, zsh or fish."`
	Complete completeVerb   `cmd:"" name:"__complete" hidden:"" help:"Say what may stand in place of the last word of a line."`
	Man      manVerb        `cmd:"" name:"man-pages" hidden:"" help:"Write the manual for man: a page of the command, and one of each verb."`
	Version  versionVerb    `cmd:"" help:"Print the version."`
	Help     helpVerb       `cmd:"" help:"Explain a verb or a subject: exit-codes, environment."`
}

// newParser builds the parser. It cannot fail but by a mistake in the grammar.
func newParser(l *line, c console) *kong.Kong {
	parser := kong.Must(l,
		kong.Name(program),
		kong.Description("Run pipelines of coding agents, durably. `help exit-codes` and `help environment` say more."),
		kong.NoDefaultHelp(),
		kong.Writers(c.stdout, c.stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Exit(func(int) {}),
	)
	illustrate(parser.Model.Node, "")
	return parser
}
