package compile_test

import (
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// catalog is a fixed set of components like the shipped ones.
type catalog struct{}

var providerFacts = map[string]struct{ name, model string }{
	"claude":      {"claude", "opus"},
	"claude-code": {"claude", "opus"},
	"anthropic":   {"claude", "opus"},
	"codex":       {"codex", "gpt-5.2-codex"},
	"openai":      {"codex", "gpt-5.2-codex"},
	"mock":        {"mock", ""},
	"command":     {"command", ""},
}

func (catalog) Provider(name string) (canonical, model string, ok bool) {
	p, ok := providerFacts[name]
	return p.name, p.model, ok
}

func (catalog) Locality(name string) sdk.Locality {
	if name == "mock" || name == "command" {
		return sdk.LocalityLocal
	}
	return sdk.LocalityRemote
}

func (catalog) Providers() []string { return []string{"claude", "codex", "mock"} }

func (c catalog) Termination(name string) bool { return slices.Contains(c.Terminations(), name) }

var actionNames = map[string]string{"check": "check", "mock": "mock", "script": "script", "webhook": "webhook", "post": "webhook"}

func (catalog) HookAction(name string) (canonical string, ok bool) {
	canonical, ok = actionNames[name]
	return canonical, ok
}

func (catalog) HookActions() []string { return []string{"check", "mock", "script", "webhook"} }

func (catalog) Terminations() []string { return []string{"checks", "fixed", "judgment", "queue"} }
