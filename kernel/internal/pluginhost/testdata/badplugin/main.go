// Command badplugin is every plugin that the host's tests need, good and bad. Its file name says which
// it is: agent-plugin-<name>; the prompt of an attempt says what happens in its middle.
package main

import (
	"bytes"
	"context"
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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
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

// starts are the plugins that never become one.
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
	"deaf": func() {
		l, err := net.Listen("unix", socket())
		if err != nil {
			panic(err)
		}
		defer l.Close()
		shake("1", "unix", socket())
	},
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
	if a.name == "serial" {
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
