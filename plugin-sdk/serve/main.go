package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// Exit codes of a plugin binary.
const (
	exitOK     = 0
	exitBroken = 1 // the plugin is not what it should be: its author's mistake
	exitByHand = 2 // started by hand, or with arguments that it does not know
)

// Main runs the plugin and ends the process. It is all that a plugin's main function calls.
func Main(p sdk.Plugin) {
	os.Exit(Run(p, os.Args[1:]))
}

// Run is [Main] for a program with a command line of its own: args are what follows the words that
// chose the plugin. It returns the process's exit code once the kernel has said goodbye; after a
// kernel's death it does not return, because the process group ends.
func Run(p sdk.Plugin, args []string) int {
	o := defaultOptions()
	o.log = hclog.New(&hclog.LoggerOptions{Name: p.Name, Output: os.Stderr, JSONFormat: true})
	s, err := newServer(p, o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-plugin-%s cannot be served:\n%v\n", p.Name, err)
		return exitBroken
	}
	if len(args) > 0 {
		return answer(s, args[0], os.Stdout, os.Stderr)
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		byHand(s, os.Stderr)
		return exitByHand
	}
	s.serveKernel()
	return exitOK
}

// answer serves the arguments that a person or a discovering kernel gives.
func answer(s *server, arg string, stdout, stderr io.Writer) int {
	switch arg {
	case "describe":
		out, err := json.MarshalIndent(s.description, "", "  ")
		if err != nil {
			fmt.Fprintf(stderr, "describe: %v\n", err)
			return exitBroken
		}
		fmt.Fprintf(stdout, "%s\n", out)
	case "version", "--version":
		fmt.Fprintf(stdout, "agent-plugin-%s %s\n", s.description.Name, s.description.Version)
	case "help", "--help", "-h":
		byHand(s, stdout)
	default:
		fmt.Fprintf(stderr, "unknown argument %q\n", arg)
		byHand(s, stderr)
		return exitByHand
	}
	return exitOK
}

// byHand explains the binary to a person.
func byHand(s *server, w io.Writer) {
	d := s.description
	fmt.Fprintf(w, "agent-plugin-%s %s is a plugin of agent-pipelines, which starts it when a pipeline needs it.\n", d.Name, d.Version)
	fmt.Fprintln(w, "It serves:")
	for _, c := range d.Components {
		fmt.Fprintf(w, "  %-12s %s\n", c.Kind, c.Name)
	}
	fmt.Fprintln(w, "To use it, put it into ~/.config/agent-pipelines/plugins (or give its directory as --plugin-dir) and see")
	fmt.Fprintf(w, "it in `agent-pipelines plugins list`. `agent-plugin-%s describe` prints what it offers as JSON.\n", d.Name)
}

// serveKernel speaks with the kernel until it says goodbye.
func (s *server) serveKernel() {
	life := watchHost(s)
	defer life.end()
	once := settleOnce(os.Stderr)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.Protocol: {wire.PluginSet: &grpcPlugin{server: s}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(opts, limits()...), once...)...)
		},
		Logger: s.log,
	})
	s.shutdownComponents()
}

// limits raise grpc's own limit of 4 MiB.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage)}
}
