package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// runIn is the input of the tool that runs a pipeline or a stage.
type runIn struct {
	Pipeline  string            `json:"pipeline,omitempty" jsonschema:"the pipeline's name, or the path of its file in the project; this or stage"`
	Stage     string            `json:"stage,omitempty" jsonschema:"the name of a stage, to be run alone as a loop; this or pipeline"`
	Session   string            `json:"session,omitempty" jsonschema:"the session's name; default: made up from the pipeline's or stage's"`
	Request   string            `json:"request,omitempty" jsonschema:"the work to do; prompts have it as ${CONTEXT}"`
	Inputs    []string          `json:"inputs,omitempty" jsonschema:"files and directories of the project that the agents are to read first"`
	Artifacts map[string]string `json:"artifacts,omitempty" jsonschema:"files of the project by name, each in place of the artifact of that node, or a field of the run's input"`
	Provider  string            `json:"provider,omitempty" jsonschema:"use this provider for all stages"`
	Model     string            `json:"model,omitempty" jsonschema:"use this model for all stages"`
	StartAt   string            `json:"start_at,omitempty" jsonschema:"begin with this node of the pipeline"`
	ExitAfter string            `json:"exit_after,omitempty" jsonschema:"end after this node of the pipeline"`
	Skip      []string          `json:"skip,omitempty" jsonschema:"nodes of the pipeline to leave out"`
	// The following fields limit the run.
	MaxIterations  int  `json:"max_iterations,omitempty" jsonschema:"the most iterations of a stage; default 25"`
	MaxCycles      int  `json:"max_cycles,omitempty" jsonschema:"how often each edge that leads back may be taken, 1 to 10"`
	TimeoutSeconds int  `json:"timeout_seconds,omitempty" jsonschema:"how long the whole run may take"`
	Supervised     bool `json:"supervised,omitempty" jsonschema:"ask the user after every node but the last"`
}

// check refuses contradictory arguments, and paths outside of the project.
func (in *runIn) check(s *server) error {
	if (in.Pipeline == "") == (in.Stage == "") {
		return wrong("either pipeline or stage is needed", "list_pipelines names them")
	}
	if in.Stage != "" && (in.StartAt != "" || in.ExitAfter != "" || len(in.Skip) > 0 || len(in.Artifacts) > 0 || in.Supervised || in.MaxCycles != 0) {
		return wrong("a stage alone has no nodes, artifacts or edges", "leave out start_at, exit_after, skip, artifacts, supervised and max_cycles, or start a pipeline")
	}
	if in.Pipeline != "" && in.MaxIterations != 0 {
		return wrong("max_iterations is of a stage that runs alone", "leave it out: the pipeline's file says how often its stages iterate")
	}
	if err := namesOrPaths(s.Root, slices.DeleteFunc([]string{in.Pipeline, in.Stage}, empty)...); err != nil {
		return err
	}
	for _, value := range slices.DeleteFunc(slices.Concat([]string{in.Session, in.Provider, in.Model, in.StartAt, in.ExitAfter}, in.Skip), empty) {
		if err := checkName("a name", value); err != nil {
			return err
		}
	}
	if err := in.files(s); err != nil {
		return err
	}
	for _, n := range []struct {
		name        string
		value, most int
	}{{"max_iterations", in.MaxIterations, 10_000}, {"max_cycles", in.MaxCycles, 10}, {"timeout_seconds", in.TimeoutSeconds, 30 * 24 * 3600}} {
		if _, err := number(n.name, n.value, 0, n.most); err != nil {
			return err
		}
	}
	return text("the request", in.Request)
}

func empty(s string) bool { return s == "" }

func (in *runIn) files(s *server) error {
	if n := max(len(in.Inputs), len(in.Artifacts), len(in.Skip)); n > maxMany {
		return wrong(fmt.Sprintf("there are %d of one kind", n), fmt.Sprintf("inputs, artifacts and skip take %d each at most", maxMany))
	}
	for i, path := range in.Inputs {
		if strings.ContainsAny(path, "*?[") {
			return wrong(fmt.Sprintf("input '%s' is a pattern", path), "name the files or directories themselves")
		}
		if err := within(s.Root, "input", path); err != nil {
			return err
		}
		in.Inputs[i] = filepath.Clean(path) // the same form as in the check
	}
	for name, path := range in.Artifacts {
		if err := key("the name of an artifact", name); err != nil {
			return err
		}
		if err := within(s.Root, "artifact", path); err != nil {
			return err
		}
		in.Artifacts[name] = filepath.Clean(path)
	}
	return nil
}

// flags returns the arguments as flags of the command, without the request and max_iterations.
func (in *runIn) flags() []string {
	var flags []string
	say := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	say("provider", in.Provider)
	say("model", in.Model)
	say("start", in.StartAt)
	say("exit-after", in.ExitAfter)
	for _, node := range in.Skip {
		say("skip", node)
	}
	for _, path := range in.Inputs {
		say("input", path)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Artifacts)) {
		say("artifact", name+"="+in.Artifacts[name])
	}
	if in.MaxCycles > 0 {
		say("max-cycles", strconv.Itoa(in.MaxCycles))
	}
	if in.TimeoutSeconds > 0 {
		say("timeout", strconv.Itoa(in.TimeoutSeconds))
	}
	if in.Supervised {
		flags = append(flags, "--supervised")
	}
	return flags
}

// line returns the command line that starts the run in the background.
func (in *runIn) line() []string {
	detached := func(verb string, flags, words []string) []string {
		return slices.Concat([]string{verb, "--verb", "--detach"}, flags, []string{"--"}, words)
	}
	switch {
	case in.Stage != "":
		words := []string{in.Stage, in.Session}
		if in.Session == "" {
			words[1] = in.Stage
		}
		if in.MaxIterations > 0 {
			words = append(words, strconv.Itoa(in.MaxIterations))
		}
		return detached("loop", in.context(), words)
	case in.Request != "":
		flags := in.flags()
		if in.Session != "" {
			flags = append(flags, "--session="+in.Session)
		}
		return detached("start", flags, []string{in.Pipeline, in.Request})
	default:
		return detached("pipeline", in.flags(), slices.DeleteFunc([]string{in.Pipeline, in.Session}, empty))
	}
}

// context returns the flags with the request as --context.
func (in *runIn) context() []string {
	flags := in.flags()
	if in.Request != "" {
		flags = append(flags, "--context="+in.Request)
	}
	return flags
}

type startOut struct {
	document.BackgroundSession
	Next []string `json:"next" jsonschema:"the possible next steps"`
}

func (s *server) start(ctx context.Context, _ call, in runIn) (startOut, error) {
	if err := in.check(s); err != nil {
		return startOut{}, err
	}
	return s.begin(ctx, in.line())
}

// begin starts or resumes a session in the background.
func (s *server) begin(ctx context.Context, line []string) (out startOut, err error) {
	if err := s.run(ctx, line, &out.BackgroundSession); err != nil {
		return out, err
	}
	out.Next = []string{"status with wait_seconds waits until it rests or asks", "events shows its progress"}
	if out.Ended {
		out.Next = []string{"status shows its end"}
	}
	return out, nil
}

// run runs the command and decodes the document that it prints. It also returns an error that
// the command printed.
func (s *server) run(ctx context.Context, line []string, to any) error {
	printed, err := s.Command(ctx, line...)
	if err != nil {
		return err
	}
	var refused struct {
		Error json.RawMessage `json:"error"`
	}
	if err := errors.Join(json.Unmarshal(printed, &refused), json.Unmarshal(printed, to)); err != nil {
		return fmt.Errorf("read the command's output: %w", err)
	}
	if refused.Error != nil {
		return &printedError{refused.Error}
	}
	return nil
}

type dryRunIn struct {
	runIn
	Assume map[string]string `json:"assume,omitempty" jsonschema:"the outcome of a node's iterations, by its id: success, fail, retry, stop or error; under a contract also reject or escalate"`
}

type dryRunOut struct {
	Run any `json:"run" jsonschema:"as agent-pipelines dry-run --json prints it"`
}

func (s *server) dryRun(ctx context.Context, _ call, in dryRunIn) (out dryRunOut, err error) {
	if err := in.check(s); err != nil {
		return out, err
	}
	line := slices.Concat([]string{"dry-run", "--verb"}, in.context())
	if len(in.Assume) > maxMany {
		return out, wrong(fmt.Sprintf("assume names %d nodes", len(in.Assume)), fmt.Sprintf("name %d at most", maxMany))
	}
	for _, node := range slices.Sorted(maps.Keys(in.Assume)) {
		if err := errors.Join(key("the name of a node", node), checkName("an outcome", in.Assume[node])); err != nil {
			return out, err
		}
		line = append(line, "--assume="+node+"="+in.Assume[node])
	}
	if in.MaxIterations > 0 {
		line = append(line, "--max="+strconv.Itoa(in.MaxIterations))
	}
	kind, name := "pipeline", in.Pipeline
	if in.Stage != "" {
		kind, name = "loop", in.Stage
	}
	line = append(line, "--", kind, name)
	if in.Session != "" {
		line = append(line, in.Session)
	}
	var run map[string]json.RawMessage
	err = s.run(ctx, line, &run)
	out.Run = run
	return out, err
}

type resumeIn struct {
	sessionArgument
	Context string `json:"context,omitempty" jsonschema:"text for the next prompts"`
}

func (s *server) resume(ctx context.Context, c call, in resumeIn) (startOut, error) {
	if err := checkText(in.Session, "context", in.Context); err != nil {
		return startOut{}, err
	}
	return s.resumeSession(ctx, c, in.Session, in.Context)
}

func (s *server) resumeSession(ctx context.Context, c call, session, context string) (startOut, error) {
	line := []string{"resume", "--verb", "--detach", "--by=" + c.by}
	if context != "" {
		line = append(line, "--context="+context)
	}
	return s.begin(ctx, append(line, "--", session))
}

type controlIn struct {
	sessionArgument
	Reason string `json:"reason,omitempty" jsonschema:"why, for the journal"`
}

func (s *server) pause(ctx context.Context, c call, in controlIn) (document.Request, error) {
	return s.control(ctx, in, "pause", func(e *engine.Engine) error { return e.PauseSession(ctx, in.Session, in.Reason, c.by) })
}

func (s *server) abort(ctx context.Context, c call, in controlIn) (document.Request, error) {
	return s.control(ctx, in, "abort", func(e *engine.Engine) error { return e.AbortSession(ctx, in.Session, in.Reason, c.by) })
}

func (s *server) control(ctx context.Context, in controlIn, requested string, do func(*engine.Engine) error) (document.Request, error) {
	if err := checkText(in.Session, "the reason", in.Reason); err != nil {
		return document.Request{}, err
	}
	return document.Request{Session: in.Session, Requested: requested}, s.Use(ctx, do)
}
