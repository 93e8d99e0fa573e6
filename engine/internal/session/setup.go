package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// setup is a session's plan with its providers, settings, isolation, and redaction of secrets.
type setup struct {
	handle *handle
	host   *pluginhost.Host // of the session, or of the engine for queries and repairs
	plan   *plan.Plan
	// providers maps the names in the plan's blocks to components, nil if not known yet.
	providers map[string]event.Provider
	configs   environment.ProviderConfigs // the user's current settings, by provider
	sandbox   *plan.Sandbox               // from [ResumeOptions], nil for none
	redactor  *redact.Redactor            // also knows the plan's secret patterns
	warnings  yamldoc.Diagnostics
}

// newSetup returns the setup of a session whose plan is not known yet.
func newSetup(h *handle, host *pluginhost.Host, configs environment.ProviderConfigs, sandbox *plan.Sandbox) *setup {
	return &setup{handle: h, host: host, configs: configs, sandbox: sandbox, redactor: h.env.Redactor}
}

// setPlan sets the session's plan and adds the plan's secret patterns to the redactor.
func (s *setup) setPlan(p *plan.Plan) error {
	var patterns []*regexp.Regexp
	for _, text := range p.SecretPatterns() {
		compiled, err := regexp.Compile(text)
		if err != nil { // the plan was not made by the compiler
			return failure.New(failure.ConfigInvalid, "policy.secrets.patterns of session '%s': %w", s.handle.name, err)
		}
		patterns = append(patterns, compiled)
	}
	s.plan = p
	if len(patterns) > 0 {
		s.redactor = s.handle.env.Redactor.WithPatterns(patterns)
		s.host.Redact(s.redactor)
	}
	return nil
}

// redactPlan returns the plan without secrets in the user's text for the agent, which is stored in the
// session and sent to the model's provider.
func (s *setup) redactPlan(p *plan.Plan) *plan.Plan {
	o := p.Pipeline.Overrides
	if o == nil || s.redactor.ForAgent().Text(o.Context) == o.Context {
		return p
	}
	clean, overrides := *p, *o
	overrides.Context = s.redactor.ForAgent().Text(o.Context)
	clean.Pipeline.Overrides = &overrides
	return &clean
}

// writePlan writes plan.json and the copies of the pipeline and of shipped stages. It returns the plan's
// digest.
func (s *setup) writePlan(src *source.Source) (string, error) {
	if s.plan.Session.Inputs == nil {
		s.plan.Session.Inputs = []string{} // as in the Bash engine, never null
	}
	var err error
	if s.plan.Library, err = s.copyLibrary(src.Library); err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(s.plan, "", "  ") // indented as by the Bash engine
	if err != nil {
		return "", fmt.Errorf("render plan.json: %w", err)
	}
	if len(src.Yaml) > 0 {
		if err := s.handle.dir.Replace(store.PipelineFile, src.Yaml); err != nil {
			return "", err
		}
	}
	if src.Mode == "loop" { // for strategies that are asked before the first iteration
		if _, err := s.handle.dir.EnsureSessionProgress(); err != nil {
			return "", err
		}
	}
	ref, err := s.handle.dir.Write(store.PlanFile, append(b, '\n'))
	return ref.SHA256, err
}

// copyLibrary copies the folders of shipped stages that the plan uses, into the session and outside of it, and returns the
// digests of their files. A session resumed by a newer program thus keeps its prompts.
func (s *setup) copyLibrary(folders []string) (map[string]string, error) {
	library, digests := s.handle.env.Config.Library, map[string]string{}
	for _, folder := range folders {
		err := fs.WalkDir(library, folder, func(name string, _ fs.DirEntry, err error) error {
			info, statErr := fs.Stat(library, name) // the info of a link's target
			if err = cmp.Or(err, statErr); err != nil || !info.Mode().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(library, name)
			if err != nil {
				return err
			}
			ref, err := s.handle.dir.Write(store.LibraryDir+"/"+name, data)
			digests[name] = ref.SHA256
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("copy the shipped %s into the session: %w", folder, err)
		}
		if err := effect.KeepStage(s.handle.dir, digests, folder); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// checkPlan refuses to continue with a plan.json that was changed since the start; startedWith is its SHA-256 at the
// start.
func (s *setup) checkPlan(startedWith string) error {
	ref, err := s.handle.dir.Ref(store.PlanFile)
	if err != nil {
		return err
	}
	if startedWith != "" && startedWith != ref.SHA256 {
		return failure.New(failure.Tampered, "plan.json of session '%s' was changed after the session started", s.handle.name).
			WithHint("find out which program changed it and restore the file, or start the session again with %s", failure.Option("force"))
	}
	return nil
}

func (s *setup) components() environment.Components {
	return s.handle.env.Components(s.host, s.plan, s.configs, s.sandbox)
}

// blockProviders maps the provider names in the plan's parallel blocks to components. A resumed run keeps its original
// mapping.
func (s *setup) blockProviders(ctx context.Context) (_ map[string]event.Provider, err error) {
	if s.providers == nil {
		s.providers, err = s.components().BlockProviders(ctx)
	}
	return s.providers, err
}

// loadPlan reads plan.json and sets the plan. It also checks that a plan of the Bash engine has everything that a run
// needs.
func (s *setup) loadPlan(fromBash bool) error {
	p, err := inspect.LoadPlan(s.handle.dir)
	if err == nil && fromBash {
		err = recovery.Complete(p)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.StateCorrupt, "session '%s' has no plan.json", s.handle.name).WithHint("start it again with %s", failure.Option("force"))
	case err != nil && (fromBash || failure.KindOf(err) == failure.StateCorrupt):
		return failure.New(failure.StateCorrupt, "plan.json of session '%s' cannot be used: %w", s.handle.name, err).
			WithHint("restore the file, or compile again with %s", failure.Option("force"))
	}
	if err != nil {
		return err
	}
	return s.setPlan(p)
}

// confinement describes the sandboxes of the session's agents. The user's signing key is exposed if an agent can read it.
func (s *setup) confinement(ctx context.Context) environment.Confinement {
	return s.components().Confinement(ctx, s.providers, signing.UserKeys().Dir())
}

// asks reports whether a plan can ask the user, apart from escalations.
func asks(p *plan.Plan) bool {
	for n := range p.All() {
		if p.EffectivePolicy(n).Approvals != nil {
			return true
		}
	}
	for h := range p.Hooks() {
		if h.Action == plan.ActionConfirm {
			return true
		}
	}
	return false
}

// readResolutions returns the answers in the resolution files of the open escalations. If a file has faults, it returns
// only the faults. In a session with a sandbox the files do not count, because agents can write them (U319).
func (s *setup) readResolutions(st state.State) ([]event.Event, yamldoc.Diagnostics) {
	if st.Confined {
		return nil, nil
	}
	var answers []event.Event
	var faults yamldoc.Diagnostics
	for _, o := range question.Unanswered(s.plan, st) {
		f, exists := question.Read(s.handle.dir, o.ID)
		if !exists {
			continue
		}
		if len(f.Faults) == 0 {
			answers = append(answers, o.Answer(f.Resolution))
		}
		faults = append(faults, f.Faults...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return answers, nil
}

// redactEvent removes secrets from an event before it is journaled, and completes its command lines.
func (s *setup) redactEvent(e event.Event) event.Event {
	e = redaction.Event(s.redactor, e)
	if e.Type != event.ToolCall && e.Type != event.ToolResult { // their arguments and results are the agent's
		e.Data = completeCommands(e.Data, s.handle.env.Config.Program)
	}
	return e
}
