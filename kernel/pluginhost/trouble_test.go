package pluginhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A change of a plugin's file during a session is reported, with its path, at the next call.
func TestFileOfARunningPlugin(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(path string) error
		kind    failure.Kind
		message string
	}{
		{"removed", os.Remove, failure.ProviderMissing, "does not exist"},
		{"replaced by what is no plugin", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("#!/bin/sh\necho no plugin >&2\nexit 3\n"), 0o700), os.Rename(path+".new", path))
		}, failure.ProviderCrashed, "ended before the handshake"},
		{"no longer executable", func(path string) error { return os.Chmod(path, 0o600) }, failure.PluginInvalid, "not executable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			content := must(os.ReadFile(badplugin))
			dir := t.TempDir()
			path := filepath.Join(dir, "agent-plugin-good")
			check(t, os.WriteFile(path, content, 0o700))
			b := newBench(t, func(c *Config) { c.PluginDirs = []string{dir} })
			p := b.provider("good", Use{})
			b.output(p, "pid")
			check(t, tt.change(path))
			_, err := p.Execute(b.ctx(), sdk.ExecuteRequest{Prompt: "pid"}, nil)
			if f := failure.From(err); f == nil || f.Kind != tt.kind || !strings.Contains(f.Message, path) || !strings.Contains(f.Message, tt.message) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

// U264: the error of an unknown name lists the existing components of the kind.
func TestUnknownComponents(t *testing.T) {
	b := newBench(t, nil)
	for kind, find := range map[string]func() error{
		"provider":    func() error { _, err := b.Provider(b.ctx(), "missing", Use{}); return err },
		"termination": func() error { _, err := b.Termination(b.ctx(), "missing", Use{}); return err },
		"hook":        func() error { _, err := b.HookAction(b.ctx(), "missing", Use{}); return err },
		"component":   func() error { _, err := b.Component(b.ctx(), sdk.KindProvider, "missing"); return err },
	} {
		if f := failure.From(find()); f == nil || f.Kind != failure.ProviderMissing || !strings.Contains(f.Message, `: missing (`) || f.Hint == "" {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

// The search for plugins ends with the caller's context.
func TestListIsCancelled(t *testing.T) {
	b := newBench(t, nil, "good")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l, err := b.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", l, err)
	}
}
