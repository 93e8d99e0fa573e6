package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// Start is the verb `start <pipeline> "<request>"`.
type Start struct {
	Pipeline string `arg:"" help:"The pipeline's name or file, such as agent-loop."`
	requestFlags
}

// Run implements [cli.Verb].
func (v *Start) Run(ctx context.Context, a *cli.App) error {
	if v.Pipeline == "" {
		return cli.UsageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	}
	return v.start(ctx, a, v.Pipeline)
}

// Design is the verb `design "<request>"`.
type Design struct{ requestFlags }

// Run implements [cli.Verb].
func (v *Design) Run(ctx context.Context, a *cli.App) error {
	return v.start(ctx, a, cli.PipelineDesign)
}

// Implement is the verb `implement "<request>"`.
type Implement struct{ requestFlags }

// Run implements [cli.Verb].
func (v *Implement) Run(ctx context.Context, a *cli.App) error {
	return v.start(ctx, a, cli.PipelineImplement)
}

// Fix is the verb `fix "<request>"`.
type Fix struct{ requestFlags }

// Run implements [cli.Verb].
func (v *Fix) Run(ctx context.Context, a *cli.App) error { return v.start(ctx, a, cli.PipelineFix) }

// requestFlags holds the request of a run, and the flags of the verbs that take a request.
type requestFlags struct {
	Request *string `arg:"" optional:"" help:"The request, in one argument; - reads standard input. Prompts contain it as $${CONTEXT}. Optional with --artifact or --from-spec."`

	Session string `placeholder:"NAME" help:"Session name (default the pipeline's with the time)."`
	SessionFlags
	Force bool `help:"Override the lock of another process; restart a finished session."`
	foregroundFlags
	waitFlag
	EntryFlags
}

// start runs a pipeline with the request.
func (v *requestFlags) start(ctx context.Context, a *cli.App, pipeline string) error {
	o, err := v.Options(a)
	if err != nil {
		return err
	}
	request, err := v.request(a, pipeline)
	if err != nil {
		return err
	}
	if request != "" && v.Context != "" {
		request += "\n\n" + v.Context
	}
	o.Context = cmp.Or(request, o.Context)
	if err := v.Resolve(ctx, a, &o); err != nil {
		return err
	}
	o.Force, o.Wait = v.Force, v.Wait
	o.Pipeline, o.Session, o.NameAfterPipeline = pipeline, v.Session, true
	return v.foregroundFlags.start(ctx, a, startRequest{Run: &o})
}

// maxRequest is the maximum size of a request in bytes.
const maxRequest = 1 << 20

// request returns the request: the argument or standard input; "" if artifacts replace it.
func (v *requestFlags) request(a *cli.App, pipeline string) (string, error) {
	if v.Request == nil && (len(v.Artifact) > 0 || v.FromSpec != "") {
		return "", nil
	}
	hint := fmt.Sprintf(`describe the work: %s start %s "make the failing test pass"`, cli.Program, pipeline)
	if v.Request == nil {
		return "", cli.UsageError(`expected "<request>"`, "%s; or give the pipeline's input with --artifact NAME=FILE", hint)
	}
	text := *v.Request
	if text == "-" {
		if a.Stdin == nil {
			return "", cli.UsageError("there is no standard input to read the request from", "give it as an argument")
		}
		input, err := io.ReadAll(io.LimitReader(a.Stdin, maxRequest+1))
		if err != nil {
			return "", fmt.Errorf("read the request: %w", err)
		}
		text = string(input)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", cli.UsageError("the request is empty", "%s", hint)
	case len(text) > maxRequest:
		return "", cli.UsageError("the request is longer than 1 MiB", "move long parts to files, and name them with --input")
	case !utf8.ValidString(text):
		return "", cli.UsageError("the request is not UTF-8 text", "convert it, or name a file with --input")
	}
	return text, nil
}
