package clitest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// PlainCase is an attempt with a command that prints plain text instead of events.
type PlainCase struct {
	// Name is the subtest's name.
	Name string
	// Env holds the fake's variables.
	Env map[string]string
	// Output is the expected output, also as the text shown on the exchange.
	Output  string
	Outcome sdk.Outcome
	// Kind is the expected failure's kind, "" for none, and Hint a part of its hint.
	Kind failure.Kind
	Hint string
}

// PlainText runs each case as a subtest with a provider from newProvider; see [CLI.Environ]. The fake agent must
// print version 9.8.7. Each result has this version and no model.
func PlainText(t *testing.T, newProvider func(testing.TB) sdk.Provider, cases []PlainCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			x := &plugintest.Exchange{}
			result, err := newProvider(t).Execute(t.Context(), Request(t, tt.Env), x)
			if err != nil {
				t.Fatal(err)
			}
			if shown := x.Record().Text(sdk.StreamText); result.Output != tt.Output || shown != tt.Output {
				t.Errorf("output = %q, shown %q, want %q", result.Output, shown, tt.Output)
			}
			if result.Outcome != tt.Outcome || result.AgentVersion != "9.8.7" || result.Model != "" {
				t.Errorf("outcome %q (want %q), version %q, model %q; %+v", result.Outcome, tt.Outcome, result.AgentVersion, result.Model, result.Error)
			}
			WantFailure(t, result.Error, tt.Kind, tt.Hint)
		})
	}
}

// Question asks the provider a question whose answer is a recorded stream, and requires the output want.
func Question(t *testing.T, provider sdk.Provider, stream, want string) {
	t.Helper()
	file, err := filepath.Abs(stream)
	if err != nil {
		t.Fatal(err)
	}
	req := Request(t, map[string]string{"FAKE_STREAM": file})
	req.Purpose = sdk.PurposeQuestion
	result, err := provider.Execute(t.Context(), req, &plugintest.Exchange{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Output != want {
		t.Errorf("output = %q, want %q", result.Output, want)
	}
}

// WantFailure requires a failure of the kind whose hint contains a text, or no failure for the empty kind.
func WantFailure(t *testing.T, got *failure.Error, kind failure.Kind, hint string) {
	t.Helper()
	switch {
	case got == nil && kind != "":
		t.Errorf("no failure, want %q", kind)
	case got != nil && (got.Kind != kind || !strings.Contains(got.Hint, hint)):
		t.Errorf("failure %+v, want kind %q and a hint with %q", got, kind, hint)
	}
}

// Diagnose tests a provider's findings about its agent's command: whether the command exists, and whether the user is
// logged in.
type Diagnose struct {
	// Command is the name of the agent's command.
	Command string
	// Key is a variable that holds a key of the agent's service.
	Key string
	// Subject is the subject of the finding about the program: "version" or "program".
	Subject string
	// Measured is the version with which the command is compared; empty for a provider that does not read the version.
	Measured string
	// New makes the provider; environ returns its environment.
	New func(environ func() []string) sdk.Diagnoser
}

// Run examines a command with and without a key, an old version of the command, and a missing command.
func (e Diagnose) Run(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, e.Command), []byte("#!/bin/sh\necho ${VERSION:-999.1}\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	examine := func(t *testing.T, env ...string) []sdk.Finding {
		t.Helper()
		env = append([]string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}, env...)
		findings, err := e.New(func() []string { return env }).Diagnose(t.Context(), sdk.ValidateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
	for name, tt := range map[string]struct {
		env  []string
		want sdk.FindingState // of the login
	}{
		"a key":    {[]string{e.Key + "=x"}, sdk.FindingOK},
		"no login": {nil, sdk.FindingUnclear},
	} {
		t.Run(name, func(t *testing.T) {
			findings := examine(t, tt.env...)
			for about, state := range map[string]sdk.FindingState{e.Subject: sdk.FindingOK, "login": tt.want} {
				if !slices.ContainsFunc(findings, func(f sdk.Finding) bool { return f.About == about && f.State == state }) {
					t.Errorf("no finding %q about %q in %+v", state, about, findings)
				}
			}
		})
	}
	if e.Measured != "" {
		findings := examine(t, "VERSION=0.1.2")
		if findings[0].State != sdk.FindingUnclear || !strings.HasSuffix(findings[0].Detail, e.Measured) {
			t.Errorf("findings about an old version: %+v", findings)
		}
	}
	if _, err := e.New(func() []string { return nil }).Diagnose(t.Context(), sdk.ValidateRequest{}); err == nil {
		t.Error("a missing command is not refused")
	}
}

// AddStreams adds the recorded streams in testdata to the corpus of a fuzz test.
func AddStreams(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}
