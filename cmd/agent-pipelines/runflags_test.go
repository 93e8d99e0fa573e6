package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
	"github.com/dodo-digital/agent-pipelines/engine"
)

func environmentOf(values map[string]string) cli.Console {
	return cli.Console{Getenv: func(name string) string { return values[name] }}
}

// C4, BASH-BEHAVIOUR 9: flags win over what wrapper scripts hand on; CLAUDE_PIPELINE_* stays apart.
func TestRunOptions(t *testing.T) {
	env := map[string]string{
		"PIPELINE_CLI_PROVIDER": "codex", "PIPELINE_CLI_MODEL": "o3", "PIPELINE_CLI_CONTEXT": "careful", "PIPELINE_CLI_INPUTS": `["a b.md","c.md"]`,
		"CLAUDE_PIPELINE_PROVIDER": "claude", "CLAUDE_PIPELINE_MODEL": "opus", "CLAUDE_PIPELINE_CONTEXT": "fast",
	}
	fromEnv := engine.RunOptions{EnvProvider: "claude", EnvModel: "opus", EnvContext: "fast"}
	handed, flagged := fromEnv, fromEnv
	handed.Provider, handed.Model, handed.Context, handed.Inputs = "codex", "o3", "careful", []string{"a b.md", "c.md"}
	flagged.Provider, flagged.Model, flagged.Context, flagged.Inputs = "mock", "m", "c", []string{"d.md"}
	flagged.Force, flagged.Commands = true, map[string]string{"test": "make"}
	for _, tt := range []struct {
		name  string
		flags run.RunFlags
		want  engine.RunOptions
	}{
		{"handed on", run.RunFlags{}, handed},
		{"flags", run.RunFlags{GivenFlags: run.GivenFlags{Provider: "mock", Model: "m", Context: "c", Input: []string{"d.md"}, Command: map[string]string{"test": "make"}}, Force: true}, flagged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.flags.Options(&cli.App{Console: environmentOf(env)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListed(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \n": nil, "a.md\nb c.md\n": {"a.md", "b c.md"}, `["a.md"]`: {"a.md"},
	} {
		got, err := run.Listed(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if _, err := run.Listed(`["a.md"`); cli.ExitOf(err) != cli.ExitUsage {
		t.Errorf("half an array gives %v", err)
	}
}

// DESIGN 3: flags, then the project's config.yaml, which does not count where CI=true, then the user's, then
// CI=true, then tmux.
func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flags  run.PlaceFlags
		config string
		ci     string
		ours   string // the project's
		want   engine.Background
	}{
		{"nothing is said", run.PlaceFlags{}, "", "", "", engine.BackgroundTmux},
		{"CI", run.PlaceFlags{}, "", "true", "", engine.BackgroundOff},
		{"CI is something else", run.PlaceFlags{}, "", "false", "", engine.BackgroundTmux},
		{"the user's word goes before CI", run.PlaceFlags{}, "background: detach", "true", "", engine.BackgroundDetach},
		{"the user wants none", run.PlaceFlags{}, "background: off", "", "", engine.BackgroundOff},
		{"a file with faults says nothing", run.PlaceFlags{}, "background: screen", "", "", engine.BackgroundTmux},
		{"--foreground", run.PlaceFlags{Foreground: true}, "background: detach", "", "", engine.BackgroundOff},
		{"--detach", run.PlaceFlags{Detach: true}, "background: off", "true", "", engine.BackgroundDetach},
		{"--tmux", run.PlaceFlags{Tmux: true}, "background: off", "true", "", engine.BackgroundTmux},
		{"the project's word", run.PlaceFlags{}, "", "", "background: detach", engine.BackgroundDetach},
		{"the project's goes before the user's", run.PlaceFlags{}, "background: off", "", "background: detach", engine.BackgroundDetach},
		{"CI goes before the project's", run.PlaceFlags{}, "", "true", "background: detach", engine.BackgroundOff},
		{"the user's goes before the project's in CI", run.PlaceFlags{}, "background: tmux", "true", "background: detach", engine.BackgroundTmux},
		{"flags go before the project's", run.PlaceFlags{Foreground: true}, "", "", "background: detach", engine.BackgroundOff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", home)
			project := t.TempDir()
			for file, text := range map[string]string{
				filepath.Join(home, "agent-pipelines", "config.yaml"): tt.config, filepath.Join(project, ".claude", "config.yaml"): tt.ours,
			} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			c := environmentOf(map[string]string{"CI": tt.ci, "PROJECT_ROOT": project})
			c.Stderr = io.Discard
			got, err := tt.flags.Place(t.Context(), &cli.App{Console: c})
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, contradiction := range []run.PlaceFlags{{Foreground: true, Tmux: true}, {Foreground: true, Detach: true}, {Detach: true, Tmux: true}} {
		if err := (&run.RunFlags{PlaceFlags: contradiction}).Check(); cli.ExitOf(err) != cli.ExitUsage {
			t.Errorf("%+v: %v", contradiction, err)
		}
	}
	if err := (&run.RunFlags{Resume: true, Recompile: true}).Check(); cli.ExitOf(err) != cli.ExitUsage {
		t.Errorf("resume and recompile: %v", err)
	}
}

// D34: what another process is told makes the same options, even where values look like flags.
func TestArguments(t *testing.T) {
	want := run.RunFlags{
		GivenFlags: run.GivenFlags{
			Provider: "mock", Model: "-m", Context: "two\nlines, \"quoted\"; --force", Input: []string{"a b.md", "--x"},
			Command: map[string]string{"test": "make a=b", "lint": "x; y"},
		},
		Force: true, PlaceFlags: run.PlaceFlags{Foreground: true},
		WaitFlags: run.WaitFlags{Wait: true, Unattended: true},
		FlowFlags: run.FlowFlags{Skip: []string{"a,b", "-c"}, Timeout: []string{"3600", "a=b=90", "d=0.5"}, MaxCycles: 2},
		SandboxFlags: run.SandboxFlags{
			Sandbox: "strict", Network: "off", Read: []string{"/r", "/a b"}, Write: []string{"/-w"}, Memory: "2147483648", Processes: 5,
			CPU: 90 * time.Second,
		},
	}
	a := &cli.App{Console: environmentOf(nil), GlobalFlags: cli.GlobalFlags{
		LogLevel: "info", LogFormat: "json", PluginDir: []string{"/p q"}, Verbose: true, NoColor: true, NoBundled: true,
	}}
	o, err := want.Options(a)
	if err != nil {
		t.Fatal(err)
	}
	var l Commands
	parser := newParser(&l, a.Console)
	args := a.Foreground("loop", want.Arguments(o), []string{"-stage", "s", "3"})
	if _, err := parser.Parse(arrange(parser.Model, args).args); err != nil {
		t.Fatal(err, args)
	}
	if diff := cmp.Diff(want, l.Loop.RunFlags, cmp.AllowUnexported(run.RunFlags{})); diff != "" {
		t.Error(diff)
	}
	a.Verb = true // no stage of the project is meant
	if diff := cmp.Diff(a.GlobalFlags, l.GlobalFlags); diff != "" {
		t.Error(diff)
	}
	if l.Loop.Stage != "-stage" || l.Loop.Session != "s" || *l.Loop.Max != 3 {
		t.Errorf("words %+v", l.Loop)
	}
}

func TestIgnoredOnResume(t *testing.T) {
	f := run.RunFlags{GivenFlags: run.GivenFlags{Provider: "x", Input: []string{"a"}, Context: "c"}}
	if diff := cmp.Diff("Ignored: --provider, --input; a resumed session keeps its plan.", f.IgnoredOnResume(nil)); diff != "" {
		t.Error(diff)
	}
	flow := run.RunFlags{FlowFlags: run.FlowFlags{Skip: []string{"x"}, SkipVerify: true, Timeout: []string{"x=1"}, MaxCycles: 1}}
	if diff := cmp.Diff("Ignored: --skip, --skip-verify, --timeout, --max-cycles, --start; a resumed session keeps its plan.", flow.IgnoredOnResume([]string{"--start"})); diff != "" {
		t.Error(diff)
	}
	if got := (&run.RunFlags{GivenFlags: run.GivenFlags{Context: "c"}}).IgnoredOnResume(nil); got != "" {
		t.Errorf("got %q, but the context is used", got)
	}
}

// U113: what the flags of the flow come to.
func TestFlowFlags(t *testing.T) {
	var o engine.RunOptions
	f := run.FlowFlags{Skip: []string{"plan"}, SkipVerify: true, Timeout: []string{"work=1.5", "90"}, MaxCycles: 3}
	if err := f.Over(&o); err != nil {
		t.Fatal(err)
	}
	want := engine.RunOptions{Skip: []string{"plan", "verify"}, Timeouts: map[string]time.Duration{"work": 1500 * time.Millisecond}, Timeout: 90 * time.Second, MaxCycles: 3}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"", "work", "=5", "work=", "work=soon", "work=0", "work=-1", "work=NaN", "work=1e300", "0", "-1", "soon"} {
		if err := (&run.FlowFlags{Timeout: []string{wrong}}).Over(&o); cli.ExitOf(err) != cli.ExitUsage {
			t.Errorf("a timeout of %q: %v", wrong, err)
		}
	}
	if err := (&run.FlowFlags{Timeout: []string{"5", "6"}}).Over(&engine.RunOptions{}); cli.ExitOf(err) != cli.ExitUsage {
		t.Errorf("two timeouts of the run: %v", err)
	}
	for text, fine := range map[string]bool{"1": true, "10": true, "11": false, "0": false, "x": false} {
		if err := new(run.Cycles).UnmarshalText([]byte(text)); (err == nil) != fine {
			t.Errorf("%s cycles: %v", text, err)
		}
	}
}
