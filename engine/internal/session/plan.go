package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// setPlan sets the session's plan and adds its secret patterns to the redactor.
func (s *session) setPlan(p *plan.Plan) error {
	var patterns []*regexp.Regexp
	for _, text := range p.SecretPatterns() {
		compiled, err := regexp.Compile(text)
		if err != nil { // the plan was not made by the compiler
			return failure.New(failure.ConfigInvalid, "policy.secrets.patterns of session '%s': %w", s.name, err)
		}
		patterns = append(patterns, compiled)
	}
	s.plan = p
	if len(patterns) > 0 {
		s.redactor = s.engine.env.Redactor.WithPatterns(patterns)
		s.host.Redact(s.redactor)
	}
	return nil
}

// redactPlan returns the plan without secrets in the user's text for the agent, which is stored in the
// session and sent to the model's provider.
func (s *session) redactPlan(p *plan.Plan) *plan.Plan {
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
func (s *session) writePlan(src *source.Source) (string, error) {
	if s.plan.Session.Inputs == nil {
		s.plan.Session.Inputs = []string{} // as in the Bash engine, never null
	}
	b, err := json.MarshalIndent(s.plan, "", "  ") // as by the Bash engine
	if err != nil {
		return "", fmt.Errorf("render plan.json: %w", err)
	}
	if err := s.copyLibrary(src.Library); err != nil {
		return "", err
	}
	if len(src.Yaml) > 0 {
		if err := s.dir.Replace(store.PipelineFile, src.Yaml); err != nil {
			return "", err
		}
	}
	if src.Mode == "loop" { // for strategies that are asked before the first iteration
		if _, err := s.dir.EnsureSessionProgress(); err != nil {
			return "", err
		}
	}
	ref, err := s.dir.Write(store.PlanFile, append(b, '\n'))
	return ref.SHA256, err
}

// copyLibrary copies the folders of shipped stages that the plan uses into the session. A session resumed by
// a newer program thus keeps its prompts.
func (s *session) copyLibrary(folders []string) error {
	library := s.engine.env.Config.Library
	for _, folder := range folders {
		err := fs.WalkDir(library, folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := fs.Stat(library, name)
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(library, name)
			if err != nil {
				return err
			}
			_, err = s.dir.Write(store.LibraryDir+"/"+name, data)
			return err
		})
		if err != nil {
			return fmt.Errorf("copy the shipped %s into the session: %w", folder, err)
		}
	}
	return nil
}

// checkPlan refuses to continue with a plan.json that was changed since the start.
func (s *session) checkPlan() error {
	ref, err := s.dir.Ref(store.PlanFile)
	if err != nil {
		return err
	}
	if s.state.PlanSHA256 != "" && s.state.PlanSHA256 != ref.SHA256 {
		return failure.New(failure.StateCorrupt, "plan.json of session '%s' was changed after the session started", s.name).
			WithHint("put the file back, or start the session again with --force")
	}
	return nil
}

func (s *session) components() environment.Components {
	return environment.Components{
		Host: s.host, ProviderOverride: s.engine.env.Config.ProviderOverride, SkipHooks: s.engine.env.Config.SkipHooks, Configs: s.configs, Plan: s.plan, Sandboxes: s.sandboxSettings(),
	}
}

// blockProviders maps the provider names in the plan's parallel blocks to components. A resumed run keeps its original
// mapping.
func (s *session) blockProviders(ctx context.Context) (_ map[string]event.Provider, err error) {
	if s.providers == nil {
		s.providers, err = s.components().BlockProviders(ctx)
	}
	return s.providers, err
}

func (s *session) sandboxSettings() environment.SandboxSettings {
	return s.engine.env.SandboxSettings(s.plan).Narrow(s.sandbox)
}
