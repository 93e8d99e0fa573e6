//go:build proofpython

package python

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

const (
	python   = "/usr/bin/python3"
	protoDir = "../../plugin-sdk/proto"
)

// generate makes the Python code of the protocol and returns the environment that finds it.
func generate(t *testing.T) []string {
	t.Helper()
	out := t.TempDir()
	generator, err := exec.LookPath("grpc_python_plugin")
	if err != nil {
		t.Fatalf("generate the Python code: %v; install the packages that doc.go names", err)
	}
	cmd := exec.CommandContext(t.Context(), "protoc", "-I", protoDir, "--python_out="+out,
		"--plugin=protoc-gen-grpc="+generator, "--grpc_out="+out, "agentpipelines/plugin/v1/plugin.proto")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generate the Python code: %v\n%s", err, text)
	}
	return append(os.Environ(), "PYTHONPATH="+out, "PYTHONDONTWRITEBYTECODE=1")
}

// command is the plugin's command line.
func command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("provider.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, append([]string{script}, args...)...)
	cmd.Env = generate(t)
	return cmd
}

// described runs the describe argument, as the kernel does before the first start.
func described(t *testing.T) sdk.Description {
	t.Helper()
	out, err := command(t.Context(), t, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d sdk.Description
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if err := client.CheckDescription(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// launch starts the plugin with AutoMTLS only where its description says so.
func launch(t *testing.T) (*client.Client, sdk.Description) {
	t.Helper()
	d := described(t)
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions:  client.DialOptions(),
		AutoMTLS:         d.MTLS,
		Cmd:              command(t.Context(), t),
		Logger:           hclog.NewNullLogger(),
	})
	t.Cleanup(c.Kill)
	protocol, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := client.New(protocol)
	if err != nil {
		t.Fatal(err)
	}
	return plugin, d
}

func TestDescribeAgreesWithTheArgument(t *testing.T) {
	plugin, want := launch(t)
	got, err := plugin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-argument +call):\n%s", diff)
	}
}

func TestAttempts(t *testing.T) {
	plugin, d := launch(t)
	p := plugin.Provider(d.Components[0])
	if err := p.(sdk.Initializer).Init(t.Context(), sdk.InitRequest{WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Run("large", func(t *testing.T) {
		prompt := strings.Repeat("ü", 5<<20)
		got, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: prompt}, &plugintest.Exchange{})
		if err != nil || got.Output != prompt || got.Outcome != sdk.OutcomeSucceeded {
			t.Errorf("got %d bytes, %s, %v", len(got.Output), got.Outcome, err)
		}
	})
	t.Run("gated call", func(t *testing.T) {
		x := &plugintest.Exchange{Otherwise: sdk.Verdict{Action: sdk.VerdictDeny, Reason: "no"}}
		got, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "ask"}, x)
		if err != nil || got.Output != "the kernel said VERDICT_ACTION_DENY" {
			t.Errorf("got %q, %v", got.Output, err)
		}
		want := []sdk.ToolCall{{CallID: "1", Tool: "write", Args: json.RawMessage(`{"path": "a"}`), Effect: sdk.EffectOnce}}
		if diff := cmp.Diff(want, x.Record().Calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) { cancel() }}
		_, err := p.Execute(ctx, sdk.ExecuteRequest{Prompt: "sleep"}, x)
		if !errors.Is(err, context.Canceled) || err.Error() != "cancelled" {
			t.Errorf("got %v, want the plugin's own words and the end of the context", err)
		}
	})
	t.Run("exception", func(t *testing.T) {
		_, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "raise"}, &plugintest.Exchange{})
		if failure.KindOf(err) != failure.ProviderCrashed || !strings.Contains(err.Error(), "an exception in the provider") {
			t.Errorf("got %s: %v", failure.KindOf(err), err)
		}
	})
	t.Run("refused configuration", func(t *testing.T) {
		err := p.(sdk.Validator).Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(`{"forbidden": 1}`)})
		if failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("got %v", err)
		}
	})
	t.Run("service that it does not have", func(t *testing.T) {
		_, err := plugin.Termination(sdk.Component{Name: "t"}).Decide(t.Context(), sdk.DecideRequest{})
		if failure.KindOf(err) != failure.PluginInvalid {
			t.Errorf("got %v", err)
		}
	})
}

// TestEndsWithTheKernel closes stdin, which the kernel's death does.
func TestEndsWithTheKernel(t *testing.T) {
	cmd := command(t.Context(), t)
	handshake := client.Handshake()
	cmd.Env = append(cmd.Env, handshake.MagicCookieKey+"="+handshake.MagicCookieValue)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, len("1|1|unix|"))); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the plugin ended as if all were well")
	}
}
