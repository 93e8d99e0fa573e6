// Command badplugin serves as each plugin that the host's tests need, good or bad. The name of its file,
// agent-plugin-<name>, selects the plugin, and the prompt of an attempt selects an action.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func main() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "agent-plugin-")
	if act, bad := starts[name]; bad {
		act()
		return
	}
	serve.Main(sdk.Plugin{
		Name: name, Version: "1.0.0",
		Providers:    []sdk.Provider{&actor{name: name}},
		Terminations: []sdk.Termination{stopper{name + "-stop"}},
		HookActions:  []sdk.HookAction{hook{name + "-hook"}},
	})
}

// starts are the programs, by name, that do not become a working plugin.
var starts = map[string]func(){
	"prints": func() { fmt.Println("hello from the plugin"); forever() },
	"hangs":  forever,
	"dies":   func() { fmt.Fprintln(os.Stderr, "cannot find my settings"); os.Exit(3) },
	"floods": func() {
		for {
			_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16))
		}
	},
	"othercookie": func() {
		goplugin.Serve(&goplugin.ServeConfig{HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: 1, MagicCookieKey: "ANOTHER_PROGRAM", MagicCookieValue: "x",
		}})
	},
	"newprotocol": func() { shake("99", "unix", socket()) },
	"tcp":         func() { shake("1", "tcp", "127.0.0.1:1") },
	"outside":     func() { shake("1", "unix", "/tmp/somewhere-else.sock") },
	"certified": func() { // the kernel sent no certificate
		config, _, err := client.MutualTLS()
		if err != nil {
			panic(err)
		}
		fmt.Printf("1|1|unix|%s|grpc|%s\n", socket(), base64.RawStdEncoding.EncodeToString(config.Certificates[0].Certificate[0]))
		forever()
	},
	"deaf": func() {
		l, err := net.Listen("unix", socket())
		if err != nil {
			panic(err)
		}
		defer l.Close()
		shake("1", "unix", socket())
	},
	"leaves": func() {
		l, err := net.Listen("unix", socket())
		if err != nil {
			panic(err)
		}
		fmt.Printf("1|1|unix|%s|grpc|\n", socket())
		_, _ = l.Accept()
		os.Exit(4)
	},
	"mute":     func() { answer(func() error { return status.Error(codes.Unimplemented, "nothing to say") }) },
	"swallows": func() { answer(func() error { os.Exit(6); return nil }) },
}

// answer serves a plugin that is healthy, and calls otherwise for every method but Health.
func answer(otherwise func() error) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{1: {"agentpipelines": nothing{}}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
				var message emptypb.Empty
				if err := call.RecvMsg(&message); err != nil {
					return err
				}
				if method, _ := grpc.MethodFromServerStream(call); !strings.HasSuffix(method, "/Health") {
					return otherwise()
				}
				return call.SendMsg(&message)
			}))...)
		},
	})
}

// nothing is a plugin without services.
type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func (nothing) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func socket() string { return filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s") }

func shake(version, network, address string) {
	fmt.Printf("1|%s|%s|%s|grpc|\n", version, network, address)
	forever()
}

func forever() { time.Sleep(time.Hour) }

// actor is a provider that does what the prompt says.
type actor struct {
	name    string
	inits   atomic.Int32
	running atomic.Int32
}

func (a *actor) Describe() sdk.Component {
	c := sdk.Component{Name: a.name, Aliases: []string{a.name + "-alias"}}
	if strings.HasPrefix(a.name, "shared") {
		c.Capabilities = []string{sdk.CapabilityShared}
	}
	if strings.HasSuffix(a.name, "serial") {
		c.Concurrency = sdk.ConcurrencySerial
	}
	return c
}

func (a *actor) Init(_ context.Context, req sdk.InitRequest) error {
	a.inits.Add(1)
	if a.name == "uninitialized" {
		return errors.New("no licence in " + req.WorkDir)
	}
	return nil
}

func (a *actor) Validate(_ context.Context, req sdk.ValidateRequest) error {
	if a.inits.Load() != 1 {
		return fmt.Errorf("validated after %d inits", a.inits.Load())
	}
	if bytes.Contains(req.Config, []byte("wrong")) {
		return errors.New("wrong is not a setting")
	}
	return nil
}

func (a *actor) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	defer a.running.Add(-1)
	if n := a.running.Add(1); n > 1 && a.name == "serial" {
		return sdk.ExecuteResult{}, fmt.Errorf("%d calls at the same time", n)
	}
	word, rest, _ := strings.Cut(req.Prompt, " ")
	act, ok := acts[word]
	if !ok {
		return sdk.ExecuteResult{Output: req.Prompt}, nil
	}
	output, err := act(ctx, rest, x)
	return sdk.ExecuteResult{Output: output}, err
}

type act func(ctx context.Context, rest string, x sdk.Exchange) (string, error)

var acts = map[string]act{
	"pid": func(context.Context, string, sdk.Exchange) (string, error) { return fmt.Sprint(os.Getpid()), nil },
	"env": func(context.Context, string, sdk.Exchange) (string, error) {
		b, err := json.Marshal(os.Environ())
		return string(b), err
	},
	"dir": func(context.Context, string, sdk.Exchange) (string, error) { return os.Getwd() },
	"wait": func(ctx context.Context, _ string, x sdk.Exchange) (string, error) {
		x.Progress(sdk.Progress{Message: "waiting"})
		<-ctx.Done()
		return "", ctx.Err()
	},
	"deaf": func(_ context.Context, _ string, x sdk.Exchange) (string, error) {
		x.Progress(sdk.Progress{Message: "waiting"})
		select {}
	},
	"fail": func(context.Context, string, sdk.Exchange) (string, error) {
		return "", failure.New(failure.ProviderCrashed, "the agent's own process crashed")
	},
	"kill": signal(syscall.SIGKILL),
	"stop": signal(syscall.SIGSTOP),
	"exit": func(context.Context, string, sdk.Exchange) (string, error) {
		fmt.Fprintln(os.Stderr, "leaving by exit")
		os.Exit(7)
		return "", nil
	},
	"panic": func(context.Context, string, sdk.Exchange) (string, error) {
		done := make(chan struct{})
		go func() { panic("a goroutine of the plugin") }()
		<-done
		return "", nil
	},
	"stdout": func(context.Context, string, sdk.Exchange) (string, error) {
		raw := os.NewFile(1, "raw stdout")
		for range 64 {
			if _, err := raw.Write(bytes.Repeat([]byte("flood\n"), 1<<12)); err != nil {
				return "", err
			}
		}
		return "flooded", nil
	},
	"line": func(context.Context, string, sdk.Exchange) (string, error) {
		_, err := os.NewFile(1, "raw stdout").Write(bytes.Repeat([]byte("x"), 200<<10))
		return "written", err
	},
	"stderr": func(context.Context, string, sdk.Exchange) (string, error) {
		raw := os.NewFile(2, "raw stderr")
		for range 16 {
			if _, err := raw.Write(bytes.Repeat([]byte("noise\n"), 1<<12)); err != nil {
				return "", err
			}
		}
		return "flooded", nil
	},
	"children": func(_ context.Context, rest string, _ sdk.Exchange) (string, error) { return children(rest) },
}

func signal(s syscall.Signal) act {
	return func(_ context.Context, _ string, x sdk.Exchange) (string, error) {
		fmt.Fprintln(os.Stderr, "last words before the signal")
		x.Progress(sdk.Progress{Message: "now"})
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			return "", err
		}
		forever()
		return "", nil
	}
}

// children leaves one child in the group and one in a session of its own; both hold the plugin's
// stderr. Their process ids are the output. With the word "kill" the plugin then kills itself.
func children(word string) (string, error) {
	var pids []string
	for _, setsid := range []bool{false, true} {
		c := exec.Command("sleep", "3600")
		c.Stderr = os.NewFile(2, "raw stderr")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
		if err := c.Start(); err != nil {
			return "", err
		}
		pids = append(pids, fmt.Sprint(c.Process.Pid))
	}
	if file, kill := strings.CutPrefix(word, "kill "); kill {
		if err := os.WriteFile(file, []byte(strings.Join(pids, " ")), 0o600); err != nil {
			return "", err
		}
		return "", syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return strings.Join(pids, " "), nil
}

type stopper struct{ name string }

func (s stopper) Describe() sdk.Component { return sdk.Component{Name: s.name} }

func (s stopper) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	if req.Stage == "env" {
		return sdk.Decision{Action: sdk.DecisionStop, Reason: strings.Join(os.Environ(), "\n")}, nil
	}
	return sdk.Decision{Action: sdk.DecisionStop, Reason: "enough"}, nil
}

func (s stopper) Release(context.Context, string) error { return errors.New("released") }

type hook struct{ name string }

func (h hook) Describe() sdk.Component { return sdk.Component{Name: h.name} }

func (h hook) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Action: sdk.ActionPause, Reason: "a look is needed"}, nil
}
