package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/mcpserve"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// MCP is the verb `mcp` with its subcommand serve.
type MCP struct {
	Serve mcpServeVerb `cmd:"" help:"Serve one client on standard input and output."`
}

// mcpServeVerb is the verb `mcp serve`.
type mcpServeVerb struct {
	Allow string `enum:"read,run,approve" default:"run" placeholder:"LEVEL" help:"Permissions of clients: read, run (also start, pause, resume and abort) or approve (also answer questions to the user) (default run)."`
	Root  string `placeholder:"DIR" help:"Project directory (default the current directory)."`
}

// Help returns the text below the usage.
func (*mcpServeVerb) Help() string {
	return `A client, such as a coding agent, starts this command. Standard output carries only the protocol. The command ends
with its input; the sessions that it started continue. docs/mcp.md describes the tools and the configuration of clients.`
}

// Run implements [cli.Verb].
func (v *mcpServeVerb) Run(ctx context.Context, a *cli.App) error {
	if a.Stdin == nil {
		return cli.UsageError("there is no standard input to serve", "a client starts this command and talks with it")
	}
	root, err := v.root(a)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	here := forProject(a, root)
	return mcpserve.Serve(ctx, a.Stdin, a.Stdout, mcpserve.Options{
		Level: v.level(a), Version: cli.CurrentBuild().Version, Root: root,
		Use:     here.WithEngine,
		Command: func(ctx context.Context, words ...string) ([]byte, error) { return runSelf(ctx, a, root, words) },
		Why:     look.ExplainSession, Questions: look.OpenQuestions, Artifact: look.ChooseArtifact,
		Clean: redact.New(os.Environ()).ForAgent().Text,
	})
}

// level returns the permissions of clients. In a session's process it never allows approve, even if a file of the
// project requests it: agents must not approve their own work.
func (v *mcpServeVerb) level(a *cli.App) mcpserve.Level {
	level := mcpserve.Level(v.Allow)
	if level == mcpserve.Approve && withinSession(a.Getenv) {
		fmt.Fprintln(a.Stderr, "Ignored: --allow approve; this server was started by an agent of a session, and agents do not answer questions to the user.")
		return mcpserve.Run
	}
	return level
}

// withinSession reports whether a session's plugin or agent started this process.
func withinSession(getenv func(string) string) bool {
	return getenv("AGENT_PIPELINES_RUN") != "" || getenv("CLAUDE_PIPELINE_AGENT") != ""
}

// root returns the project's absolute path.
func (v *mcpServeVerb) root(a *cli.App) (string, error) {
	root, err := filepath.Abs(cmp.Or(v.Root, a.Getenv("PROJECT_ROOT")))
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", cli.UsageError(fmt.Sprintf("there is no directory %s", root), "give --root the directory of the project")
	}
	return root, nil
}

// forProject returns a copy of the app for another project.
func forProject(a *cli.App, root string) *cli.App {
	other := *a
	other.Getenv = func(name string) string {
		if name == "PROJECT_ROOT" {
			return root
		}
		return a.Getenv(name)
	}
	return &other
}

// selfKillDelay is the time between SIGINT and SIGKILL for a command that runSelf started.
const selfKillDelay = 5 * time.Second

// runSelf runs this program for a project with --json, and returns its output. The end of ctx interrupts the program.
func runSelf(ctx context.Context, a *cli.App, root string, words []string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat(words[:1], a.Arguments(), []string{"--json"}, words[1:])...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = root, a.Stderr, selfKillDelay
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "PROJECT_ROOT=") })
	printed, err := cmd.Output()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil, errors.As(err, &ended) && len(printed) > 0: // the output contains the error
		return printed, nil
	default:
		return nil, fmt.Errorf("run %s %s: %w", cli.Program, words[0], err)
	}
}
