package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

func newConsole(values map[string]string) cli.Console {
	return cli.Console{Getenv: func(name string) string { return values[name] }}
}

// C4, BASH-BEHAVIOUR 9: flags override the variables of wrapper scripts; CLAUDE_PIPELINE_* is separate.
func TestRunOptions(t *testing.T) {
	env := map[string]string{
		"PIPELINE_CLI_PROVIDER": "codex", "PIPELINE_CLI_MODEL": "o3", "PIPELINE_CLI_CONTEXT": "careful", "PIPELINE_CLI_INPUTS": `["a b.md","c.md"]`,
		"CLAUDE_PIPELINE_PROVIDER": "claude", "CLAUDE_PIPELINE_MODEL": "opus", "CLAUDE_PIPELINE_CONTEXT": "fast",
	}
	fromEnv := engine.RunOptions{EnvProvider: "claude", EnvModel: "opus", EnvContext: "fast"}
	wrapped, flagged := fromEnv, fromEnv
	wrapped.Provider, wrapped.Model, wrapped.Context, wrapped.Inputs = "codex", "o3", "careful", []string{"a b.md", "c.md"}
	flagged.Provider, flagged.Model, flagged.Context, flagged.Inputs = "mock", "m", "c", []string{"d.md"}
	flagged.Force, flagged.Commands = true, map[string]string{"test": "make"}
	for _, tt := range []struct {
		name  string
		flags Flags
		want  engine.RunOptions
	}{
		{"wrapper script", Flags{}, wrapped},
		{"flags", Flags{SessionFlags: SessionFlags{InputFlags: InputFlags{Provider: "mock", Model: "m", Context: "c", Input: []string{"d.md"}, Command: map[string]string{"test": "make"}}}, Force: true}, flagged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := must(tt.flags.Options(&cli.App{Console: newConsole(env)}))
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseList(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \n": nil, "a.md\nb c.md\n": {"a.md", "b c.md"}, `["a.md"]`: {"a.md"},
	} {
		got, err := parseList(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if _, err := parseList(`["a.md"`); cli.ExitFor(err) != cli.ExitUsage {
		t.Errorf("half an array gives %v", err)
	}
}

// The place is set by flags, else by the project's config.yaml unless CI=true, else by the user's config.yaml, else by
// CI=true. The default is tmux.
func TestRunMode(t *testing.T) {
	for _, tt := range []struct {
		name    string
		flags   backgroundFlags
		config  string
		ci      string
		project string // config.yaml of the project
		want    authoring.Background
	}{
		{"nothing is set", backgroundFlags{}, "", "", "", authoring.BackgroundTmux},
		{"CI", backgroundFlags{}, "", "true", "", authoring.BackgroundOff},
		{"CI is something else", backgroundFlags{}, "", "false", "", authoring.BackgroundTmux},
		{"the user's setting overrides CI", backgroundFlags{}, "background: detach", "true", "", authoring.BackgroundDetach},
		{"the user wants none", backgroundFlags{}, "background: off", "", "", authoring.BackgroundOff},
		{"a file with faults is ignored", backgroundFlags{}, "background: screen", "", "", authoring.BackgroundTmux},
		{"--foreground", backgroundFlags{Foreground: true}, "background: detach", "", "", authoring.BackgroundOff},
		{"--detach", backgroundFlags{Detach: true}, "background: off", "true", "", authoring.BackgroundDetach},
		{"--tmux", backgroundFlags{Tmux: true}, "background: off", "true", "", authoring.BackgroundTmux},
		{"the project's setting", backgroundFlags{}, "", "", "background: detach", authoring.BackgroundDetach},
		{"the project's overrides the user's", backgroundFlags{}, "background: off", "", "background: detach", authoring.BackgroundDetach},
		{"CI overrides the project's", backgroundFlags{}, "", "true", "background: detach", authoring.BackgroundOff},
		{"the user's overrides the project's in CI", backgroundFlags{}, "background: tmux", "true", "background: detach", authoring.BackgroundTmux},
		{"flags override the project's", backgroundFlags{Foreground: true}, "", "", "background: detach", authoring.BackgroundOff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", home)
			dir := t.TempDir()
			for file, text := range map[string]string{
				filepath.Join(home, "agent-pipelines", "config.yaml"): tt.config, filepath.Join(dir, ".claude", "config.yaml"): tt.project,
			} {
				check(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
			}
			c := newConsole(map[string]string{"CI": tt.ci, "PROJECT_ROOT": dir})
			c.Stderr = io.Discard
			got, err := tt.flags.background(t.Context(), &cli.App{Console: c})
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := (&Flags{Resume: true, Recompile: true}).Options(&cli.App{Console: newConsole(nil)}); cli.ExitFor(err) != cli.ExitUsage {
		t.Errorf("resume and recompile: %v", err)
	}
}

// D34: another process gets the same options, even with values that look like flags.
func TestChildArgs(t *testing.T) {
	flags := Flags{
		SessionFlags: SessionFlags{
			InputFlags: InputFlags{
				Provider: "mock", Model: "-m", Context: "two\nlines, \"quoted\"; --force", Input: []string{"a b.md", "--x"},
				Command: map[string]string{"test": "make a=b", "lint": "x; y"},
			},
			ModeFlag:  ModeFlag{Mode: "airgapped"},
			FlowFlags: FlowFlags{Skip: []string{"a,b", "-c"}, Timeout: []string{"3600", "a=b=90", "d=0.5"}, MaxCycles: 2},
			SandboxFlags: SandboxFlags{
				Sandbox: "strict", Network: "off", Read: []string{"/r", "/a b"}, Write: []string{"/-w"}, Memory: "2147483648", Processes: 5,
				CPU: 90 * time.Second,
			},
		},
		Force: true, waitFlag: waitFlag{Wait: true},
	}
	entry := EntryFlags{Start: "-a", ExitAfter: "b", Supervised: true, Iterate: iterateNodes{"c"}, Artifact: []string{"d=x=y"}, DeliveryMode: "patch"}
	global := cli.GlobalFlags{
		LogLevel: "info", PluginLog: "trace", LogFormat: "json", PluginDir: []string{"/p q"}, Verbose: true, NoColor: true, NoBundled: true,
	}
	o, err := flags.Options(&cli.App{Console: newConsole(nil)})
	if err == nil {
		err = entry.Apply(&o)
	}
	check(t, err)
	o.Observe = func(engine.Update) {}
	text := must(ChildArgs(global, o))
	got := must(readChildArgs("", bytes.NewReader(text)))
	o.Observe = nil
	compare(t, childArgs{Flags: global, Request: startRequest{Run: &o}}, got)
}

// The file for a tmux pane holds the environment, which may have secrets: only the user can read it.
func TestChildArgsFile(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	note := event.New(event.TmuxSessionCleaned, nil, "", map[string]int{"pid": 7})
	r := startRequest{Resume: &engine.ResumeOptions{
		Session: "s", Runs: 2, Context: "-c", SkipFailedStep: true, ResetCycles: true, Rerun: "n", Reopen: true, By: "me", Force: true, Wait: true,
		Sandbox: &plan.Sandbox{Mode: plan.SandboxStrict, Memory: 1 << 40, CPU: 0.25}, Notes: []event.Event{note},
	}}
	dir, file, err := newChildArgs(cli.GlobalFlags{JSON: true, Quiet: true}, r).write()
	check(t, err)
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, file: 0o600} {
		info := must(os.Stat(name))
		if info.Mode() != want {
			t.Errorf("%s: mode %v, want %v", name, info.Mode(), want)
		}
	}
	got := must(readChildArgs(file, nil))
	work := must(os.Getwd())
	compare(t, childArgs{Flags: cli.GlobalFlags{Quiet: true}, Request: r, Env: os.Environ(), Dir: work}, got)
}

func TestFlagsIgnoredOnResume(t *testing.T) {
	var grammar struct {
		Pipeline Pipeline `cmd:""`
	}
	for line, want := range map[string]string{
		"--provider x --input a --context c --resume":                            "--provider --input",
		"--skip x --skip-verify --timeout x=1 --max-cycles 1 --start a --resume": "--skip --skip-verify --timeout --max-cycles --start",
		"--context c --resume": "",
	} {
		parser := must(kong.New(&grammar))
		parsed := must(parser.Parse(append([]string{"pipeline", "p", "s"}, strings.Fields(line)...)))
		if got := strings.Join(SetFlags(parsed.Selected(), slices.Concat(ignoredOnResume, EntryNames)...), " "); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// U113: the options that the flags set.
func TestFlowFlags(t *testing.T) {
	var o engine.RunOptions
	f := FlowFlags{Skip: []string{"plan"}, SkipVerify: true, Timeout: []string{"work=1.5", "90"}, MaxCycles: 3}
	check(t, f.Apply(&o))
	want := engine.RunOptions{Skip: []string{"plan", "verify"}, Timeouts: map[string]time.Duration{"work": 1500 * time.Millisecond}, Timeout: 90 * time.Second, MaxCycles: 3}
	compare(t, want, o)
	for _, wrong := range []string{"", "work", "=5", "work=", "work=soon", "work=0", "work=-1", "work=NaN", "work=1e300", "0", "-1", "soon"} {
		if err := (&FlowFlags{Timeout: []string{wrong}}).Apply(&o); cli.ExitFor(err) != cli.ExitUsage {
			t.Errorf("a timeout of %q: %v", wrong, err)
		}
	}
	if err := (&FlowFlags{Timeout: []string{"5", "6"}}).Apply(&engine.RunOptions{}); cli.ExitFor(err) != cli.ExitUsage {
		t.Errorf("two timeouts of the run: %v", err)
	}
	for text, valid := range map[string]bool{"1": true, "10": true, "11": false, "0": false, "x": false} {
		if err := new(cycleLimit).UnmarshalText([]byte(text)); (err == nil) != valid {
			t.Errorf("%s cycles: %v", text, err)
		}
	}
}

// FuzzParseList checks that the JSON of a parsed list gives the same list.
func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"", "a.md", "a.md\nb.md", `["a.md","b\nc.md"]`, "[", "[1]", " [] ", "[null]", "\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseList(text)
		if err != nil {
			if cli.ExitFor(err) == 0 || list != nil {
				t.Errorf("%q is %q and %v", text, list, err)
			}
			return
		}
		if !utf8.ValidString(text) {
			return // JSON cannot represent it
		}
		written := must(json.Marshal(list))
		again, err := parseList(string(written))
		if diff := cmp.Diff(list, again, cmpopts.EquateEmpty()); err != nil || list != nil && diff != "" {
			t.Errorf("%q is %q, then %q, %v", text, list, again, err)
		}
	})
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
