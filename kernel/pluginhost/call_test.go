package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

func TestProcessIsShared(t *testing.T) {
	b := newBench(t, nil, "good")
	pid := b.output(b.provider("good", Use{}), "pid")
	require(t, pid != fmt.Sprint(os.Getpid()), "the plugin runs inside the kernel")
	compare(t, pid, b.output(b.provider("good-alias", Use{}), "pid"))
	other := b.provider("good", Use{Names: []string{"SECRET_KEY"}})
	require(t, b.output(other, "pid") != pid, "another environment got the same process")
	compare(t, filepath.Base(b.cfg.WorkDir), filepath.Base(b.output(other, "dir")))
	compare(t, 2, len(b.seen(Started)))
}

func TestReplacedBinaryIsRestarted(t *testing.T) {
	content := must(os.ReadFile(badplugin))
	dir := t.TempDir()
	install := func(content []byte) {
		t.Helper()
		path := filepath.Join(dir, "agent-plugin-good")
		check(t, os.WriteFile(path+".new", content, 0o700))
		check(t, os.Rename(path+".new", path))
	}
	install(content)
	b := newBench(t, func(c *Config) { c.PluginDirs = []string{dir} })
	p := b.provider("good", Use{})
	before := b.output(p, "pid")
	install(append(content, 0)) // the same program with another digest
	after := b.output(p, "pid")
	require(t, after != before, "the old process serves the new binary")
}

func TestIdleProcessEnds(t *testing.T) {
	b := newBench(t, func(c *Config) { c.IdleTimeout = 20 * time.Millisecond }, "good")
	p := b.provider("good", Use{})
	pid := b.output(p, "pid")
	eventually(t, "the idle process ends", func() bool { return !runs(pid) })
	require(t, b.output(p, "pid") != pid, "the process of before answers")
	compare(t, 0, len(b.seen(Crashed)))
}

func TestProcessCrashDuringCall(t *testing.T) {
	tests := []struct {
		prompt string
		texts  []string
		detail string
	}{
		{"kill", []string{"ended unexpectedly", "signal: killed"}, "last words before the signal"},
		{"exit", []string{"exit status 7"}, "leaving by exit"},
		{"panic", []string{"exit status 2"}, "a goroutine of the plugin"},
		{"stop", []string{"stopped answering and was killed"}, "last words before the signal"},
	}
	for _, tt := range tests {
		t.Run(tt.prompt, func(t *testing.T) {
			b := newBench(t, func(c *Config) {
				c.Client = []client.Option{client.IdleLimit(300 * time.Millisecond)}
			}, "good")
			p := b.provider("good", Use{})
			_, err := b.execute(b.ctx(), p, tt.prompt)
			f := failure.From(err)
			require(t, f != nil && f.Kind == failure.ProviderCrashed && f.Retryable && !errors.Is(err, ErrCollateralFailure), f)
			contains(t, f.Message, append(tt.texts, filepath.Join(b.dir, "agent-plugin-good"))...)
			contains(t, f.Detail, tt.detail)
			compare(t, "hello", b.output(p, "hello"))
			require(t, len(b.seen(Crashed)) == 1, "the report of the crash did not precede the error")
		})
	}
}

func TestCollateralFailures(t *testing.T) {
	b := newBench(t, nil, "good")
	p := b.provider("good", Use{})
	var wait sync.WaitGroup
	waiting := make([]error, 2)
	for i := range waiting {
		a := newAlarm()
		wait.Go(func() { _, waiting[i] = attempt(b.ctx(), p, "wait", a) })
		a.wait(t)
	}
	_, culprit := b.execute(b.ctx(), p, "kill")
	wait.Wait()
	require(t, !errors.Is(culprit, ErrCollateralFailure) && failure.KindOf(culprit) == failure.ProviderCrashed, culprit)
	for _, err := range waiting {
		require(t, errors.Is(err, ErrCollateralFailure) && failure.KindOf(err) == failure.ProviderCrashed, err)
	}
}

func TestComponentFailuresAreKept(t *testing.T) {
	b := newBench(t, nil, "good")
	p := b.provider("good", Use{})
	pid := b.output(p, "pid")
	_, err := b.execute(b.ctx(), p, "fail")
	require(t, err != nil && strings.Contains(err.Error(), "the agent's own process crashed"), err)
	compare(t, pid, b.output(p, "pid"))
}

func TestOutputFloodsDoNotBlock(t *testing.T) {
	for _, prompt := range []string{"stdout", "line", "stderr"} {
		t.Run(prompt, func(t *testing.T) {
			b := newBench(t, nil, "good")
			p := b.provider("good", Use{})
			b.output(p, prompt)
			compare(t, "still there", b.output(p, "still there"))
		})
	}
}

func TestPluginChildrenAreEnded(t *testing.T) {
	t.Run("after the host is closed", func(t *testing.T) {
		b := newBench(t, nil, "good")
		pids := strings.Fields(b.output(b.provider("good", Use{}), "children"))
		check(t, b.Close(b.ctx()))
		assertEnded(t, pids)
	})
	t.Run("after the plugin is killed", func(t *testing.T) {
		b := newBench(t, nil, "good")
		file := filepath.Join(t.TempDir(), "pids")
		_, err := b.execute(b.ctx(), b.provider("good", Use{}), "children kill "+file)
		require(t, failure.KindOf(err) == failure.ProviderCrashed, err)
		pids := must(os.ReadFile(file))
		assertEnded(t, strings.Fields(string(pids)))
	})
}

func assertEnded(t *testing.T, pids []string) {
	t.Helper()
	require(t, len(pids) == 2, pids)
	for _, pid := range pids {
		eventually(t, "child "+pid+" ends", func() bool { return !runs(pid) })
	}
}

func TestCloseIsBounded(t *testing.T) {
	b := newBench(t, nil, "good")
	p := b.provider("good", Use{})
	pid := must(strconv.Atoi(b.output(p, "pid")))
	a := newAlarm()
	var wait sync.WaitGroup
	var cut error
	wait.Go(func() { _, cut = attempt(b.ctx(), p, "wait", a) })
	a.wait(t)
	check(t, syscall.Kill(pid, syscall.SIGSTOP))
	check(t, b.Close(b.ctx()))
	wait.Wait()
	require(t, errors.Is(cut, ErrClosed), cut, ErrClosed)
	_, err := b.execute(b.ctx(), p, "hello")
	require(t, errors.Is(err, ErrClosed), err, ErrClosed)
}

func TestCancelledCalls(t *testing.T) {
	// A process with a cancelled call ends even if it ended that call, because remaining processes would run
	// beside the next call.
	for _, prompt := range []string{"wait", "deaf"} {
		t.Run(prompt, func(t *testing.T) {
			b := newBench(t, nil, "good")
			p := b.provider("good", Use{})
			pid := b.output(p, "pid")
			ctx, cancel := context.WithCancel(b.ctx())
			a := newAlarm()
			var wait sync.WaitGroup
			var err error
			wait.Go(func() { _, err = attempt(ctx, p, prompt, a) })
			a.wait(t)
			cancel()
			wait.Wait()
			require(t, err != nil, "a cancelled call reports no error")
			require(t, !runs(pid), "the call returned before its process was gone")
			require(t, b.output(p, "pid") != pid, "the next call was made in the same process")
		})
	}
}

func TestEnvironment(t *testing.T) {
	b := newBench(t, nil, "good")
	names := func(use Use) []string {
		t.Helper()
		var env []string
		check(t, json.Unmarshal([]byte(b.output(b.provider("good", use), "env")), &env))
		return EnvNames(env)
	}
	marks := []string{"AGENT_PIPELINES_PLUGIN_LOG_LEVEL", "AGENT_PIPELINES_PROCESS", "AGENT_PIPELINES_RUN"}
	tests := []struct {
		name string
		use  Use
		want []string
	}{
		{"public", Use{}, append(slices.Clone(marks), "HOME", "PATH")},
		{"a name of the configuration", Use{Names: []string{"SECRET_KEY"}}, append(slices.Clone(marks), "HOME", "PATH", "SECRET_KEY")},
		{"a name of an author without trust", Use{Env: EnvPolicy{Mode: EnvInherit}}, append(slices.Clone(marks), "HOME", "PATH")},
		{"minimal", Use{Env: EnvPolicy{Mode: EnvMinimal}}, append(slices.Clone(marks), "HOME", "PATH")},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, names(tt.use)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, n := range b.seen(Started) {
		require(t, slices.Contains(n.Environment, "PATH") && !strings.Contains(strings.Join(n.Environment, " "), "s3cret"), n.Environment)
	}
}

func TestStrategyStartsMinimal(t *testing.T) {
	b := newBench(t, nil, "good")
	for _, tt := range []struct {
		use    Use
		secret bool
	}{
		{Use{}, false},
		{Use{Env: EnvPolicy{Mode: EnvInherit}}, false},
		{Use{Env: EnvPolicy{Mode: EnvMinimal, Names: []string{"SECRET_KEY"}}}, false},
		{Use{Names: []string{"SECRET_KEY"}}, true},
		{Use{Names: []string{"SECRET_KEY"}, Env: EnvPolicy{Mode: EnvMinimal}}, false},
	} {
		s := must(b.Termination(b.ctx(), "good-stop", tt.use))
		d := must(s.Decide(b.ctx(), sdk.DecideRequest{Stage: "env"}))
		compare(t, tt.secret, strings.Contains(d.Reason, "SECRET_KEY"))
	}
}

func TestStrategyAndHook(t *testing.T) {
	b := newBench(t, nil, "good")
	s := must(b.Termination(b.ctx(), "good-stop", Use{}))
	compare(t, sdk.DecisionStop, must(s.Decide(b.ctx(), sdk.DecideRequest{})).Action)
	err := s.(sdk.Releaser).Release(b.ctx(), "auth")
	require(t, err != nil && strings.Contains(err.Error(), "released"), err)
	a := must(b.HookAction(b.ctx(), "good-hook", Use{}))
	compare(t, sdk.ActionPause, must(a.Run(b.ctx(), sdk.HookRequest{})).Action)
}

func TestInitAndValidateComeFirst(t *testing.T) {
	b := newBench(t, nil, "good", "uninitialized")
	p := b.provider("good", Use{})
	b.output(p, "hello") // the plugin checks that Init came once and first
	wrong := sdk.ValidateRequest{Config: []byte(`{"wrong":1}`)}
	if err := p.(sdk.Validator).Validate(b.ctx(), wrong); err == nil || !strings.Contains(err.Error(), "wrong is not a setting") {
		t.Errorf("Validate = %v", err)
	}
	_, err := p.Execute(b.ctx(), sdk.ExecuteRequest{Prompt: "hello", Config: wrong.Config}, quietExchange{})
	require(t, err != nil && strings.Contains(err.Error(), "wrong is not a setting"), err)
	_, err = b.execute(b.ctx(), b.provider("uninitialized", Use{}), "hello")
	require(t, err != nil && strings.Contains(err.Error(), "no licence"), err)
}

func TestSerialPlugin(t *testing.T) {
	b := newBench(t, nil, "serial")
	p := b.provider("serial", Use{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := b.execute(b.ctx(), p, "hello"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestStderrIsLoggedWithPluginName(t *testing.T) {
	var log lockedBuffer
	b := newBench(t, func(c *Config) {
		c.Logger = hclog.New(&hclog.LoggerOptions{Name: "kernel", Output: &log, Level: hclog.Debug})
	}, "good")
	_, _ = b.execute(b.ctx(), b.provider("good", Use{}), "exit")
	check(t, b.Close(b.ctx()))
	contains(t, log.String(), "kernel.agent-plugin-good: leaving by exit", "mtls=true")
}

// U180: no output or failure of a plugin reveals a secret, in the log, in the failure, or in the notice of a
// crash.
func TestPluginOutputIsRedacted(t *testing.T) {
	var log lockedBuffer
	b := newBench(t, func(c *Config) {
		c.Environ = append(c.Environ, "LAST_TOKEN=leaving by", "REFUSAL_SECRET=own process crashed")
		c.PluginLogger = hclog.New(&hclog.LoggerOptions{Name: "plugins", Output: &log, Level: hclog.Debug})
	}, "good")
	p := b.provider("good", Use{})
	if _, err := b.execute(b.ctx(), p, "fail"); err == nil || !strings.Contains(err.Error(), redact.Mark) {
		t.Errorf("the plugin's failure: %v", err)
	}
	_, err := b.execute(b.ctx(), p, "exit")
	contains(t, failure.From(err).Detail, "[REDACTED] exit")
	check(t, b.Close(b.ctx()))
	contains(t, log.String(), "plugins.agent-plugin-good: [REDACTED] exit")
	for _, n := range b.seen(Crashed) {
		contains(t, n.Detail, "[REDACTED] exit")
	}
	all := fmt.Sprint(log.String(), b.seen(Crashed), err)
	require(t, !strings.Contains(all, "leaving by"), all)
}

func TestSandboxThatDoesNotExist(t *testing.T) {
	b := newBench(t, nil, "good")
	if _, err := b.execute(b.ctx(), b.provider("good", Use{Sandbox: plan.Sandbox{Mode: plan.SandboxStrict}}), "hello"); failure.KindOf(err) != failure.SandboxUnavailable {
		t.Errorf("error %v, want %s", err, failure.SandboxUnavailable)
	}
}

// localProvider is a provider of this process.
type localProvider struct {
	name string
	log  *[]string
}

func (l localProvider) Describe() sdk.Component { return sdk.Component{Name: l.name} }

func (l localProvider) Init(_ context.Context, req sdk.InitRequest) error {
	*l.log = append(*l.log, "init "+req.WorkDir)
	return nil
}

func (l localProvider) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	*l.log = append(*l.log, "execute")
	return sdk.ExecuteResult{Output: req.Prompt}, nil
}

func (l localProvider) Shutdown(context.Context) error {
	*l.log = append(*l.log, "shutdown")
	return nil
}

func TestRegisteredComponent(t *testing.T) {
	b := newBench(t, nil, "good")
	var log []string
	check(t, b.RegisterProvider(localProvider{"mine", &log}))
	err := b.RegisterProvider(localProvider{"mine", &log})
	require(t, err != nil, "the name was registered twice")
	p := b.provider("mine", Use{})
	for range 2 {
		compare(t, "hello", b.output(p, "hello"))
	}
	compare(t, sdk.KindProvider, must(b.Component(b.ctx(), sdk.KindProvider, "mine")).Kind)
	check(t, b.Close(b.ctx()))
	want := []string{"init " + b.cfg.WorkDir, "execute", "execute", "shutdown"}
	compare(t, want, log)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
