package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// asPlugin makes this test binary the plugin of the tests below.
const asPlugin = "SERVE_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		serve.Main(sdk.Plugin{Name: "fake", Version: "1.0.0", Providers: []sdk.Provider{obedient{}}})
	}
	goleak.VerifyTestMain(m)
}

// obedient is the provider in the other process; it follows the prompt.
type obedient struct{}

func (obedient) Describe() sdk.Component { return sdk.Component{Name: "fake"} }

func (obedient) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	switch req.Prompt {
	case "print":
		fmt.Println("words on stdout")
		fmt.Fprintln(os.Stderr, "words on stderr")
		return sdk.ExecuteResult{Output: strings.Join(os.Environ(), "\n")}, nil
	case "child":
		// The child holds the test's pipe, whose end shows the end of the child.
		child := exec.CommandContext(ctx, "sleep", "600")
		child.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
		child.Cancel = func() error { return nil } // keeps running until the group is killed
		if err := child.Start(); err != nil {
			return sdk.ExecuteResult{}, err
		}
		x.Output(sdk.OutputChunk{Text: "started"})
		<-ctx.Done()
		return sdk.ExecuteResult{}, ctx.Err()
	default:
		go panic("in a goroutine of the component") // which cannot be recovered
		<-ctx.Done()
		return sdk.ExecuteResult{}, ctx.Err()
	}
}

// launch starts the plugin with go-plugin.
func launch(t *testing.T, mtls bool) sdk.Provider {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asPlugin+"=1")
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions:  client.DialOptions(),
		AutoMTLS:         mtls,
		Cmd:              cmd,
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
	d, err := plugin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Provider(d.Components[0])
}

func TestProcess(t *testing.T) {
	for _, mtls := range []bool{false, true} {
		t.Run(fmt.Sprintf("mtls=%v", mtls), func(t *testing.T) {
			p := launch(t, mtls)
			got, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "print"}, &plugintest.Exchange{})
			if err != nil {
				t.Fatal(err)
			}
			environment := strings.Split(got.Output, "\n")
			if !slices.Contains(environment, asPlugin+"=1") {
				t.Errorf("the environment is not the plugin's:\n%s", got.Output)
			}
			for _, entry := range environment {
				if strings.HasPrefix(entry, "PLUGIN_") || strings.HasPrefix(entry, wire.CookieKey) {
					t.Errorf("a child of the plugin would inherit %s", entry)
				}
			}
		})
	}
}

func TestCrashInAGoroutine(t *testing.T) {
	p := launch(t, false)
	_, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "panic"}, &plugintest.Exchange{})
	if failure.KindOf(err) != failure.ProviderCrashed {
		t.Errorf("got %v, want %s", err, failure.ProviderCrashed)
	}
}

// group is the plugin in its own process group, with a pipe as stdin, as the kernel starts it.
type group struct {
	cmd    *exec.Cmd
	stdin  *os.File // the kernel's end
	alive  *os.File // ends with the last process that holds the other end
	stderr bytes.Buffer
	socket string
}

func startGroup(t *testing.T) *group {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &group{cmd: exec.Command(os.Args[0])}
	stdin, ours := pipe(t)
	alive, theirs := pipe(t)
	g.stdin, g.alive = ours, alive
	g.cmd.Env = append(os.Environ(), asPlugin+"=1", wire.CookieKey+"="+wire.CookieValue, "PLUGIN_UNIX_SOCKET_DIR="+dir)
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g.cmd.Stdin, g.cmd.Stderr, g.cmd.ExtraFiles = stdin, &g.stderr, []*os.File{theirs}
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) })
	_, _ = stdin.Close(), theirs.Close()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no handshake: %v", err)
	}
	fields := strings.Split(line, "|")
	if len(fields) < 5 || fields[0] != "1" || fields[1] != "1" || fields[4] != "grpc" {
		t.Fatalf("handshake %q", line)
	}
	g.socket = fields[3]
	return g
}

// provider connects to the plugin without go-plugin.
func (g *group) provider(t *testing.T) sdk.Provider {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+g.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client.FromConn(conn).Provider(sdk.Component{Name: "fake"})
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// TestEndOfTheKernelEndsTheGroup checks that no process of the plugin outlives the kernel.
func TestEndOfTheKernelEndsTheGroup(t *testing.T) {
	ends := map[string]func(*group) error{
		"stdin closes": func(g *group) error { return g.stdin.Close() },
		"SIGTERM":      func(g *group) error { return g.cmd.Process.Signal(syscall.SIGTERM) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			g := startGroup(t)
			p := g.provider(t)
			started := make(chan struct{})
			var attempt sync.WaitGroup
			attempt.Go(func() {
				x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) { close(started) }}
				if _, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "child"}, x); err == nil {
					t.Error("the attempt succeeded")
				}
			})
			<-started
			if err := end(g); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(g.alive); err != nil { // returns when plugin and child have ended
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := g.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Errorf("the plugin ended with %v, want the end of its group", err)
			}
			attempt.Wait()
		})
	}
}

func TestStandardStreams(t *testing.T) {
	g := startGroup(t)
	p := g.provider(t)
	if _, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "print"}, &plugintest.Exchange{}); err != nil {
		t.Fatal(err)
	}
	if err := g.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	_ = g.cmd.Wait()
	if got := g.stderr.String(); !strings.Contains(got, "words on stderr") || strings.Contains(got, "words on stdout") {
		t.Errorf("stderr:\n%s", got)
	}
}

func TestByHand(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"alone":    {nil, 2, "is a plugin for pipelines of agents"},
		"describe": {[]string{"describe"}, 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), os.Args[0], tt.args...)
			cmd.Env = append(os.Environ(), asPlugin+"=1")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("stderr:\n%s", stderr.String())
			}
			if tt.code != 0 {
				return
			}
			var d sdk.Description
			if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("fake", d.Name); diff != "" {
				t.Error(diff)
			}
		})
	}
}
