package attempt

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/hook"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
)

// prepare makes the iteration's directory, context.json and the request. What an earlier attempt of
// the same iteration left as its result or its output is moved aside: it would be taken for this one's.
func (a *attempt) prepare() (sdk.ExecuteRequest, error) {
	var err error
	if a.dir, err = rundir.At(a.Plan, a.command.Place); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	a.iteration = a.dir.Iteration(a.command.Place.Iteration)
	if err := a.Dir.MkdirPrivate(a.private()); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	for _, name := range []string{a.iteration.Result(), a.iteration.Status(), a.iteration.Output()} {
		if err := a.setAside(name); err != nil {
			return sdk.ExecuteRequest{}, err
		}
	}
	if name := a.mirrored(); name != "" { // as by tee: empty while the agent is at work, and after a crash
		if err := a.Dir.Replace(name, nil); err != nil {
			return sdk.ExecuteRequest{}, err
		}
	}
	progress, err := a.ensureProgress()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	c, err := a.Inputs.Build(a.state, a.node, a.command.Place, progress)
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if _, err := inputs.Write(a.Dir, a.iteration, c); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	return a.request(c.Paths)
}

// private is the directory that only this attempt writes to.
func (a *attempt) private() string { return a.iteration.Attempt(a.command.Attempt) }

// setAside moves whatever lies there, a link that leads nowhere too.
func (a *attempt) setAside(name string) error {
	err := a.Dir.Rename(name, a.superseded(name))
	if errors.Is(err, fs.ErrNotExist) && a.Dir.Intact() == nil {
		return nil
	}
	return err
}

// superseded is where a file of an earlier attempt goes.
func (a *attempt) superseded(name string) string {
	return a.private() + "/superseded-" + filepath.Base(name)
}

func (a *attempt) ensureProgress() (string, error) {
	switch at := a.command.Place; {
	case at.Branch != "":
		scope, err := rundir.Provider(a.Plan, at)
		if err != nil {
			return "", err
		}
		return a.Dir.EnsureProviderProgress(scope, at.Branch)
	case a.state.Mode == "loop":
		return a.Dir.EnsureSessionProgress()
	default:
		return a.Dir.EnsureStageProgress(a.dir)
	}
}

// mirrored is where the stage has a copy of the iteration's output, "" for none: only the stages of a
// pipeline do, those in parallel blocks not.
func (a *attempt) mirrored() string {
	if a.state.Mode == "loop" || a.command.Place.Branch != "" {
		return ""
	}
	return a.dir.Output(a.command.Place.Iteration, a.node.Termination.Max())
}

func (a *attempt) request(paths inputs.Paths) (sdk.ExecuteRequest, error) {
	output, err := a.declaredOutput()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	text, err := a.prompt(paths)
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	resume, err := a.resumption()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	at, policy := a.command.Place, a.Plan.PolicyOf(a.node)
	return sdk.ExecuteRequest{
		Resume: resume,
		Key:    string(a.command.Key), Epoch: a.state.Epoch,
		Session: a.state.Session, Node: a.node.ID, Stage: a.node.Ref,
		Iteration: at.Iteration, Attempt: a.command.Attempt, Visit: at.Visit,
		Purpose: sdk.PurposeWork, Prompt: text, Model: a.node.Provider.Model,
		WorkDir: a.Project.Path(), Environment: a.environment(paths),
		Paths: sdk.Paths{
			Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
			Progress: paths.Progress, Output: output, Attempt: a.Dir.Abs(a.private()),
		},
		Timeout: seconds(cmp.Or(policy.Timeout, policy.StageTimeout)), IdleTimeout: seconds(policy.IdleTimeout),
	}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (a *attempt) prompt(paths inputs.Paths) (string, error) {
	template := a.node.Prompt
	if template == "" {
		file := a.node.PromptPath
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.Project.Path(), file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return "", failure.New(failure.ConfigInvalid, "read prompt of %s: %w", a.node.ID, err).
				WithHint("the plan names this file; put it back, or start a new session to compile again")
		}
		template = string(b)
	}
	at := a.command.Place
	said, err := hook.Context(a.Dir, a.state, at)
	if err != nil {
		return "", err
	}
	v := prompt.Vars{
		Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
		Session: a.state.Session, Iteration: strconv.Itoa(at.Iteration), Index: strconv.Itoa(at.Iteration - 1),
		OutputPath: a.outputName(), Progress: paths.Progress, Text: strings.Join(nonEmpty(a.Plan.ContextOf(a.node), said), "\n"),
	}
	if name := a.mirrored(); name != "" {
		v.Output = a.Dir.Abs(name)
	}
	return withWord(template, prompt.Resolve(template, v), said), nil
}

// withWord ends a prompt that has no place for what people and hooks said with it: their word to the agent is not
// lost.
func withWord(template, text, said string) string {
	if said == "" || strings.Contains(template, "${CONTEXT}") {
		return text
	}
	return text + "\n\n" + said
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// declaredOutput is the absolute path of the node's output_path, "" without one. Its directory is
// made, inside the project only.
func (a *attempt) declaredOutput() (string, error) {
	name := a.outputName()
	if name == "" {
		return "", nil
	}
	if err := a.Project.Mkdir(filepath.Dir(name)); err != nil {
		return "", failure.New(failure.ConfigInvalid, "make the directory of output_path %s: %w", name, err).
			WithHint("output_path has to lie inside the project")
	}
	a.declared, _ = a.Project.Stat(name) // nil: not there yet
	return a.Project.Abs(name), nil
}

// outputName is the node's output_path in the project, "" without one.
func (a *attempt) outputName() string {
	return rundir.DeclaredOutput(a.Plan, a.node, a.state.Session, a.command.Place)
}

// environment is what the Bash engine gave its agents (BASH-BEHAVIOUR 6).
func (a *attempt) environment(paths inputs.Paths) map[string]string {
	t := a.node.Termination
	env := map[string]string{
		"CLAUDE_PIPELINE_AGENT": "1",
		"MAX_ITERATIONS":        strconv.Itoa(t.Max()),
		"MIN_ITERATIONS":        strconv.Itoa(t.MinIterations()),
		"CONSENSUS":             strconv.Itoa(t.Consensus()),
		"CODEX_STATUS_FILE":     paths.Status,
		"MOCK_STATUS_FILE":      paths.Status,
		"MOCK_RESULT_FILE":      paths.Result,
		"MOCK_PROVIDER":         cmp.Or(a.command.Place.Branch, a.node.Provider.Type),
		"MOCK_ITERATION":        strconv.Itoa(a.command.Place.Iteration),
	}
	if a.state.Mode == "loop" {
		env["CLAUDE_PIPELINE_SESSION"], env["CLAUDE_PIPELINE_TYPE"] = a.state.Session, a.node.Ref
	}
	return env
}
