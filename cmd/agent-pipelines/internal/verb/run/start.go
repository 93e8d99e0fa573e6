package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Start is `start <pipeline> "<request>"`.
type Start struct {
	Pipeline string `arg:"" help:"The pipeline's name, or the path of its file: agent-loop, or one of your own."`
	requestFlags
}

// Help is shown below the usage.
func (*Start) Help() string {
	return `Examples:
  agent-pipelines start agent-loop "make the failing test in ./parser pass"
  agent-pipelines start implement - < request.md --supervised
  agent-pipelines start implement --from-spec specs/login.yaml --delivery-mode commit
  agent-pipelines start test --artifact spec=specs/login.yaml`
}

func (v *Start) Run(ctx context.Context, a *cli.App) error {
	if v.Pipeline == "" {
		return cli.UsageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	}
	return v.start(ctx, a, v.Pipeline)
}

// Design is `design "<request>"`.
type Design struct{ requestFlags }

// Help is shown below the usage.
func (*Design) Help() string {
	return `Examples:
  agent-pipelines design "a login page with a rate limit"
  agent-pipelines artifacts my-session --stage spec --output specs/login.yaml`
}

func (v *Design) Run(ctx context.Context, a *cli.App) error {
	return v.start(ctx, a, cli.PipelineDesign)
}

// Implement is `implement "<request>"`.
type Implement struct{ requestFlags }

// Help is shown below the usage.
func (*Implement) Help() string {
	return `Examples:
  agent-pipelines implement "a login page with a rate limit" --iterate
  agent-pipelines implement --from-spec specs/login.yaml
  agent-pipelines implement "a login page" --exit-after red`
}

func (v *Implement) Run(ctx context.Context, a *cli.App) error {
	return v.start(ctx, a, cli.PipelineImplement)
}

// Fix is `fix "<request>"`.
type Fix struct{ requestFlags }

// Help is shown below the usage.
func (*Fix) Help() string {
	return `Examples:
  agent-pipelines fix --artifact violation=violation.yaml
  agent-pipelines fix "the parser panics on an empty file" --delivery-mode patch`
}

func (v *Fix) Run(ctx context.Context, a *cli.App) error { return v.start(ctx, a, cli.PipelineFix) }

// requestFlags are the request of a run, and the flags of the verbs that take one.
type requestFlags struct {
	Request *string `arg:"" optional:"" help:"What is wanted, in one argument; - reads it from standard input. Prompts have it as $${CONTEXT}. It may be left out beside --artifact and --from-spec."`

	Session string `placeholder:"NAME" help:"The session's name. Default: that of the pipeline with the time."`
	GivenFlags
	Force bool `help:"Take over a session that another process holds; start a finished one again."`
	herePlace
	WaitFlags
	FlowFlags
	EntryFlags
	ModeFlag
	SandboxFlags
}

// start runs a pipeline with the request.
func (v *requestFlags) start(ctx context.Context, a *cli.App, pipeline string) error {
	at := PlaceFlags(v.herePlace)
	f := RunFlags{
		GivenFlags: v.GivenFlags, Force: v.Force, PlaceFlags: at, WaitFlags: v.WaitFlags, FlowFlags: v.FlowFlags, ModeFlag: v.ModeFlag,
		SandboxFlags: v.SandboxFlags,
	}
	if err := f.Check(); err != nil {
		return err
	}
	request, err := v.request(a, pipeline)
	if err != nil {
		return err
	}
	if request != "" && f.Context != "" {
		request += "\n\n"
	}
	f.Context = request + f.Context
	o, err := f.Options(a)
	if err == nil {
		err = v.Enter(ctx, a, &o)
	}
	if err != nil {
		return err
	}
	o.Pipeline, o.Session, o.NamedAfter = pipeline, v.Session, true
	a.Unattended = v.Unattended
	if place, _ := at.said(); place == engine.BackgroundUnset { // checked above
		at.Foreground = true
	}
	return start(a, ctx, at, o, func(session string, more ...string) []string {
		return a.Foreground("pipeline", slices.Concat(f.Arguments(o), more), []string{pipeline, session})
	}, "Compiling plan.json...")
}

// maxRequest bounds what is read from standard input, in bytes.
const maxRequest = 1 << 20

// request is what a person wants: the argument, or what standard input holds; "" where artifacts say it.
func (v *requestFlags) request(a *cli.App, pipeline string) (string, error) {
	if v.Request == nil && (len(v.Artifact) > 0 || v.FromSpec != "") {
		return "", nil
	}
	hint := fmt.Sprintf(`say what is wanted: %s start %s "make the failing test pass"`, cli.Program, pipeline)
	if v.Request == nil {
		return "", cli.UsageError(`expected "<request>"`, "%s; or give what the pipeline starts from, with --artifact NAME=FILE", hint)
	}
	word := *v.Request
	if word == "-" {
		if a.Stdin == nil {
			return "", cli.UsageError("there is no standard input to read the request from", "give it as an argument")
		}
		text, err := io.ReadAll(io.LimitReader(a.Stdin, maxRequest+1))
		if err != nil {
			return "", fmt.Errorf("read the request: %w", err)
		}
		word = string(text)
	}
	word = strings.TrimSpace(word)
	switch {
	case word == "":
		return "", cli.UsageError("the request is empty", "%s", hint)
	case len(word) > maxRequest:
		return "", cli.UsageError("the request is longer than 1 MiB", "put what is long into files, and name them with --input")
	case !utf8.ValidString(word):
		return "", cli.UsageError("the request is no UTF-8 text", "convert it, or name a file with --input")
	}
	return word, nil
}
