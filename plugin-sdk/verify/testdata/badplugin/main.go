// Command badplugin is every plugin of package verify's tests: a good one, and bad ones for most
// rows. Its file name selects the mode: agent-plugin-<mode>.
//
// A good server of the SDK runs inside the command. A proxy before it can change the messages, for
// faults that the SDK does not allow.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// mode is the mode of this process: the name of a fault, or several joined by "-and-".
var mode = strings.TrimPrefix(filepath.Base(os.Args[0]), "agent-plugin-")

// has reports whether this plugin has the fault.
func has(fault string) bool { return slices.Contains(strings.Split(mode, "-and-"), fault) }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "describe" {
		describe()
		return
	}
	if os.Getenv(client.Handshake().MagicCookieKey) != client.Handshake().MagicCookieValue {
		if has("by-hand") {
			return
		}
		fmt.Fprintln(os.Stderr, "this is a plugin")
		os.Exit(2)
	}
	switch {
	case has("dies"):
		fmt.Fprintln(os.Stderr, "cannot find my settings")
		os.Exit(3)
	case has("prints"):
		fmt.Println("hello from the plugin")
	case has("tcp"):
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc|")
		linger()
	case has("newer"):
		fmt.Println("1|99|unix|" + socket() + "|grpc|")
		linger()
	case has("outside"):
		fmt.Println("1|1|unix|/tmp/somewhere-else.sock|grpc|")
		linger()
	case has("deaf"):
		if _, err := net.Listen("unix", socket()); err != nil {
			panic(err)
		}
		fmt.Println("1|1|unix|" + socket() + "|grpc|")
		linger()
	case has("plain"):
		_ = os.Unsetenv("PLUGIN_CLIENT_CERT")
	}
	watch()
	work()
}

// linger keeps the process alive. Go ends a program without cgo as a deadlock if its only goroutine blocks forever.
func linger() { time.Sleep(time.Hour) }

func socket() string { return filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s") }

func describe() {
	if has("mute") {
		os.Exit(3)
	}
	d, err := serve.Description(plugin())
	if err != nil {
		panic(err)
	}
	switch {
	case has("protocols"):
		d.Protocols = []int{2}
	case has("two-faced"):
		d.Components[0].Summary = "something else"
	}
	if err := json.NewEncoder(os.Stdout).Encode(d); err != nil {
		panic(err)
	}
}

func plugin() sdk.Plugin {
	name := mode
	if has("name") {
		name = "another-name"
	}
	return sdk.Plugin{
		Name: name, Version: "1.0.0",
		Providers:    []sdk.Provider{&worker{}},
		Terminations: []sdk.Termination{&decider{}},
		HookActions:  []sdk.HookAction{&caller{seen: map[string]bool{}}},
	}
}

// watch ends the process and its group at SIGTERM or the end of stdin, unless the mode forbids it.
func watch() {
	if !has("no-sigterm") && !has("immortal") {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		go func() { <-signals; end() }()
	} else {
		signal.Ignore(syscall.SIGTERM)
	}
	if !has("no-stdin") && !has("immortal") {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); end() }()
	}
}

func end() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(-os.Getpid(), syscall.SIGKILL)
	}
	os.Exit(1)
}

// work serves until the host's shutdown.
func work() {
	dir, err := os.MkdirTemp(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "in")
	if err != nil {
		panic(err)
	}
	inside, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		panic(err)
	}
	beat := 100 * time.Millisecond
	if has("silent") {
		beat = time.Hour
	}
	server, err := serve.Start(plugin(), inside, serve.Heartbeat(beat))
	if err != nil {
		panic(err)
	}
	defer server.Close()
	conn, err := grpc.NewClient("unix:"+filepath.Join(dir, "s"), append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{1: {"agentpipelines": &nothing{}}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			options = append(options, grpc.UnknownServiceHandler(proxy{conn}.pass))
			if !has("small") {
				options = append(options, grpc.MaxRecvMsgSize(64<<20))
			}
			return grpc.NewServer(append(options, grpc.MaxSendMsgSize(64<<20))...)
		},
	})
}
