package serve

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// threeKinds returns a plugin whose calls fail with a plain error.
func threeKinds() sdk.Plugin {
	broken := errors.New("broken")
	return sdk.Plugin{
		Name: "fake", Version: "1.0.0",
		Providers: []sdk.Provider{&fakeProvider{
			init:     func(sdk.InitRequest) error { return broken },
			validate: func(sdk.ValidateRequest) error { return broken },
			examine:  func(sdk.ValidateRequest) ([]sdk.Finding, error) { return []sdk.Finding{{About: "kept"}}, broken },
		}},
		Terminations: []sdk.Termination{fakeStrategy{func(sdk.DecideRequest) (sdk.Decision, error) {
			return sdk.Decision{Reason: "kept"}, broken
		}}},
		HookActions: []sdk.HookAction{fakeAction{func(sdk.HookRequest) (sdk.HookAnswer, error) {
			return sdk.HookAnswer{Reason: "kept"}, broken
		}}},
	}
}

// TestPlainErrorsGetAKind checks the kind of a plain error, and of the failure for an unknown component.
func TestPlainErrorsGetAKind(t *testing.T) {
	conn, _ := start(t, threeKinds())
	plugin, ctx := pb.NewPluginClient(conn), t.Context()
	type failing interface{ GetFailure() *pb.Failure }
	tests := map[string]struct {
		fault     failure.Kind
		call      func(wire.Ref) (failing, error)
		component sdk.Kind
	}{
		"init": {failure.ProviderFailed, func(r wire.Ref) (failing, error) {
			return plugin.Init(ctx, wire.Request[pb.InitRequest](r, sdk.InitRequest{}))
		}, sdk.KindProvider},
		"validate": {failure.ConfigInvalid, func(r wire.Ref) (failing, error) {
			return plugin.Validate(ctx, wire.Request[pb.ValidateRequest](r, sdk.ValidateRequest{}))
		}, sdk.KindProvider},
		"examine": {failure.ProviderFailed, func(r wire.Ref) (failing, error) {
			return plugin.Examine(ctx, wire.Request[pb.ExamineRequest](r, sdk.ValidateRequest{}))
		}, sdk.KindProvider},
		"decide": {failure.StrategyFailed, func(r wire.Ref) (failing, error) {
			return pb.NewTerminationClient(conn).Decide(ctx, wire.Request[pb.DecideRequest](r, sdk.DecideRequest{}))
		}, sdk.KindTermination},
		"run": {failure.HookFailed, func(r wire.Ref) (failing, error) {
			return pb.NewHookActionClient(conn).Run(ctx, wire.Request[pb.HookRequest](r, sdk.HookRequest{}))
		}, sdk.KindHookAction},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := must(tt.call(fakeRef(tt.component)))
			want := strip(failure.New(tt.fault, "broken"))
			compare(t, want, wire.FromFailure(response.GetFailure()))
			response = must(tt.call(wire.Ref{Kind: tt.component, Name: "other"}))
			if got := response.GetFailure(); got.GetKind() != string(failure.PluginInvalid) {
				t.Errorf("unknown component: got %v", got)
			}
		})
	}
}

// TestMissingOptionalCalls checks that a call succeeds if the component lacks its optional method.
func TestMissingOptionalCalls(t *testing.T) {
	conn, _ := start(t, threeKinds())
	plugin, ctx, ref := pb.NewPluginClient(conn), t.Context(), fakeRef(sdk.KindTermination)
	if m, err := plugin.Init(ctx, wire.Request[pb.InitRequest](ref, sdk.InitRequest{})); err != nil || m.GetFailure() != nil {
		t.Errorf("init: %v, %v", m, err)
	}
	if m, err := plugin.Validate(ctx, wire.Request[pb.ValidateRequest](ref, sdk.ValidateRequest{})); err != nil || m.GetFailure() != nil {
		t.Errorf("validate: %v, %v", m, err)
	}
	if m, err := pb.NewTerminationClient(conn).Release(ctx, wire.Request[pb.ReleaseRequest](ref, struct{ Session string }{"s"})); err != nil || m.GetFailure() != nil {
		t.Errorf("release: %v, %v", m, err)
	}
	if _, err := plugin.Health(ctx, &pb.HealthRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

func TestShutdownAsksComponentsOnce(t *testing.T) {
	var times atomic.Int32
	p := &fakeProvider{shutdown: func(context.Context) error { times.Add(1); panic("even so") }}
	conn, _ := start(t, newPlugin(p)) // the cleanup closes the server, which would be the third time
	for range 2 {
		if _, err := pb.NewPluginClient(conn).Shutdown(t.Context(), &pb.ShutdownRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := times.Load(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
	if _, err := begin(t, conn, sdk.ExecuteRequest{}).stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("an attempt after the shutdown: got %v, want Unavailable", err)
	}
}

func TestArguments(t *testing.T) {
	s := must(newServer(threeKinds(), defaultOptions()))
	tests := map[string]struct {
		code           int
		stdout, stderr string
	}{
		"--version": {0, "agent-plugin-fake 1.0.0\n", ""},
		"--help":    {0, "is a plugin for pipelines of agents", ""},
		"describe":  {0, `"kind": "hook_action"`, ""},
		"--frob":    {2, "", `unknown argument "--frob"`},
	}
	for arg, tt := range tests {
		t.Run(arg, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := answer(s, "agent-plugin-fake", arg, &stdout, &stderr); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || (tt.stdout == "") != (stdout.Len() == 0) {
				t.Errorf("stdout: %s", stdout.String())
			}
			if !strings.Contains(stderr.String(), tt.stderr) || (tt.stderr == "") != (stderr.Len() == 0) {
				t.Errorf("stderr: %s", stderr.String())
			}
		})
	}
}

// A program that contains the plugin prints its own command line, and no advice to install the
// plugin.
func TestStartByUser(t *testing.T) {
	s := must(newServer(threeKinds(), defaultOptions()))
	tests := map[string]struct {
		line, args []string
		text, not  string
	}{
		"own binary": {[]string{"/lib/agent-plugin-fake"}, nil, "`agent-plugin-fake describe`", "part of this program"},
		"carried": {
			[]string{"/bin/agent-pipelines", "plugin", "serve", "fake", "help"},
			[]string{"help"},
			"`agent-pipelines plugin serve fake describe`", "--plugin-dir",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			printHelp(s, invocation("fake", tt.line, tt.args), &out)
			if !strings.Contains(out.String(), tt.text) || strings.Contains(out.String(), tt.not) {
				t.Errorf("want %q and not %q:\n%s", tt.text, tt.not, out.String())
			}
		})
	}
}

func TestStartRefusesABrokenPlugin(t *testing.T) {
	if _, err := Start(sdk.Plugin{Name: "Bad"}, nil); err == nil || !strings.Contains(err.Error(), "no component") {
		t.Errorf("got %v", err)
	}
}
