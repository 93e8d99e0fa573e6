package verify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// Cases describes, by component names, how to provoke the behaviour that the rows check. The author
// keeps them in a file; see [ReadCases] and [FindCases].
type Cases struct {
	Providers    map[string]ProviderCases `json:"providers,omitempty"`
	Terminations map[string]DecideCases   `json:"terminations,omitempty"`
	HookActions  map[string]HookCases     `json:"hook_actions,omitempty"`
	// Files are written into each work directory, by their relative paths.
	Files map[string]string `json:"files,omitempty"`
}

// Attempt is one call of a provider.
type Attempt struct {
	Prompt      string            `json:"prompt,omitempty"`
	Model       string            `json:"model,omitempty"`
	Config      json.RawMessage   `json:"config,omitempty"` // a JSON object
	Environment map[string]string `json:"environment,omitempty"`
	// Run and Input, a JSON object, are for a provider that runs commands.
	Run   string          `json:"run,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// ProviderCases are a provider's cases. The rows of a nil case are not applicable.
type ProviderCases struct {
	// Normal succeeds with some output.
	Normal *Attempt `json:"normal,omitempty"`
	// Slow does not end within a minute.
	Slow *Attempt `json:"slow,omitempty"`
	// Busy is like Slow, and the agent has child processes. Default: Slow.
	Busy *Attempt `json:"busy,omitempty"`
	// NoWork makes the agent exit with code 0 without any work or text.
	NoWork *Attempt `json:"idle,omitempty"`
	// Large yields more than 4 MiB of output.
	Large *Attempt `json:"large,omitempty"`
	// Full succeeds and shows every declared trait: usage, tool calls, a checkpoint. Default:
	// Normal.
	Full *Attempt `json:"full,omitempty"`
	// Refused are configurations that Validate must refuse.
	Refused []json.RawMessage `json:"refused,omitempty"`
	// Free states that an attempt costs nothing, so that Normal may run hundreds of times.
	Free bool `json:"free,omitempty"`
}

// DecideCases are a termination strategy's cases.
type DecideCases struct {
	// Config is a configuration that the strategy accepts.
	Config json.RawMessage `json:"config,omitempty"`
	// Decisions are requests with the expected decisions.
	Decisions []DecideCase      `json:"decisions,omitempty"`
	Refused   []json.RawMessage `json:"refused,omitempty"`
	// Free states that a decision costs nothing and may be repeated hundreds of times.
	Free bool `json:"free,omitempty"`
}

// DecideCase is one decision.
type DecideCase struct {
	Name      string             `json:"name,omitempty"`
	Iteration int                `json:"iteration,omitempty"` // default: 1
	Max       int                `json:"max,omitempty"`
	Hint      string             `json:"hint,omitempty"`
	Round     int                `json:"round,omitempty"`
	Answer    string             `json:"answer,omitempty"` // the answer to a question, for round 1 and later
	Result    json.RawMessage    `json:"result,omitempty"`
	State     json.RawMessage    `json:"state,omitempty"`
	Config    json.RawMessage    `json:"config,omitempty"` // replaces [DecideCases].Config
	Want      sdk.DecisionAction `json:"want,omitempty"`   // "" accepts any
	// Request holds values for fields of the request that the fields above do not set, for cases in
	// Go.
	Request sdk.DecideRequest `json:"-"`
}

// HookCases are a hook action's cases.
type HookCases struct {
	// Config is a configuration that the action accepts.
	Config json.RawMessage `json:"config,omitempty"`
	// Firings are run as they are, so that the action takes effect.
	Firings []HookCase `json:"firings,omitempty"`
	// Slow is a configuration with which the action takes longer than a minute.
	Slow    json.RawMessage   `json:"slow,omitempty"`
	Refused []json.RawMessage `json:"refused,omitempty"`
	// Free states that the action may run hundreds of times.
	Free bool `json:"free,omitempty"`
}

// HookCase is one firing of a hook.
type HookCase struct {
	Name   string          `json:"name,omitempty"`
	Point  sdk.HookPoint   `json:"point,omitempty"` // default: iteration_end
	Config json.RawMessage `json:"config,omitempty"`
	Want   sdk.Action      `json:"want,omitempty"` // "" accepts any
	// Request holds values for fields of the request that the fields above do not set, for cases in Go.
	Request sdk.HookRequest `json:"-"`
}

// CasesFile is the name of the author's file of cases in the directory of the binary. A file
// <binary>.verify.json for one binary takes precedence.
const CasesFile = "verify.json"

// FindCases returns the path of a binary's file of cases, "" if there is none.
func FindCases(binary string) string {
	for _, path := range []string{binary + "." + CasesFile, filepath.Join(filepath.Dir(binary), CasesFile)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// ReadCases reads a file of cases. An unknown key is an error.
func ReadCases(path string) (Cases, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Cases{}, fmt.Errorf("read cases: %w", err)
	}
	var c Cases
	var syntax *json.SyntaxError
	switch err := config.Decode(text, &c); {
	case errors.As(err, &syntax):
		before := text[:min(int(syntax.Offset), len(text))]
		line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1
		return Cases{}, fmt.Errorf("read cases %s:%d:%d: %w", path, line, max(column, 1), syntax)
	case err != nil:
		return Cases{}, fmt.Errorf("read cases %s: %w", path, err)
	}
	return c, nil
}

// writeFiles writes the files into a work directory.
func (c Cases) writeFiles(dir string) error {
	for name, text := range c.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("the cases have a file outside the work directory: %s", name)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the author has a case of this name for a component.
func (c Cases) has(component sdk.Component, name string) bool {
	switch component.Kind {
	case sdk.KindProvider:
		p := c.Providers[component.Name]
		return map[string]*Attempt{"normal": p.Normal, "slow": p.Slow, "idle": p.NoWork, "large": p.Large, "full": p.full()}[name] != nil
	case sdk.KindTermination:
		return len(c.Terminations[component.Name].Decisions) > 0
	default:
		h := c.HookActions[component.Name]
		return name == "slow" && len(h.Slow) > 0 || name == "firings" && len(h.Firings) > 0
	}
}

func (c ProviderCases) full() *Attempt {
	return cmp.Or(c.Full, c.Normal)
}

// settings returns a model and a configuration that the component accepts, empty if there are none, and configurations
// that it must refuse.
func (c Cases) settings(component sdk.Component) (model string, accepted json.RawMessage, refused []json.RawMessage) {
	switch component.Kind {
	case sdk.KindProvider:
		p := c.Providers[component.Name]
		for _, a := range []*Attempt{p.Normal, p.Full, p.Slow, p.NoWork} {
			if a != nil {
				return a.Model, a.Config, p.Refused
			}
		}
		return "", nil, p.Refused
	case sdk.KindTermination:
		t := c.Terminations[component.Name]
		return "", t.Config, t.Refused
	default:
		h := c.HookActions[component.Name]
		return "", h.Config, h.Refused
	}
}

// with returns the cases with normal for each provider without a normal case; nil adds nothing.
func (c Cases) with(normal *Attempt, d sdk.Description) Cases {
	if normal == nil {
		return c
	}
	providers := map[string]ProviderCases{}
	maps.Copy(providers, c.Providers)
	for _, component := range d.Components {
		if p := providers[component.Name]; component.Kind == sdk.KindProvider && p.Normal == nil {
			p.Normal = normal
			providers[component.Name] = p
		}
	}
	c.Providers = providers
	return c
}

// unknown returns the names in the file that no component has.
func (c Cases) unknown(d sdk.Description) []string {
	var names []string
	for kind, given := range map[sdk.Kind][]string{
		sdk.KindProvider:    slices.Collect(maps.Keys(c.Providers)),
		sdk.KindTermination: slices.Collect(maps.Keys(c.Terminations)),
		sdk.KindHookAction:  slices.Collect(maps.Keys(c.HookActions)),
	} {
		for _, name := range given {
			if !slices.ContainsFunc(d.Components, func(c sdk.Component) bool { return c.Kind == kind && c.Name == name }) {
				names = append(names, string(kind)+" "+name)
			}
		}
	}
	slices.Sort(names)
	return names
}
