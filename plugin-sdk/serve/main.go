package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
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
	o.log = Logger(p.Name)
	debugging := len(args) > 0 && args[0] == "debug"
	if debugging { // a person reads it
		o.log = hclog.New(&hclog.LoggerOptions{Name: p.Name, Output: os.Stderr, Level: hclog.LevelFromString(os.Getenv(wire.LogLevel))})
	}
	s, err := newServer(p, o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-plugin-%s cannot be served:\n%v\n", p.Name, err)
		return exitBroken
	}
	if debugging {
		return s.debug(os.Stdout, os.Stderr)
	}
	self := invocation(p.Name, os.Args, args)
	if len(args) > 0 {
		return answer(s, self, args[0], os.Stdout, os.Stderr)
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		byHand(s, self, os.Stderr)
		return exitByHand
	}
	s.serveKernel()
	return exitOK
}

// Logger logs to stderr as the kernel reads it: JSON lines, of the level that --plugin-log-level asks for, info
// where the kernel does not say. The kernel names the lines after the plugin and takes secrets out; fields keep
// their names.
func Logger(name string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: name, Output: os.Stderr, JSONFormat: true, Level: hclog.LevelFromString(os.Getenv(wire.LogLevel)),
	})
}

// Describe is what the plugin says of itself, without being served: for programs that carry it. The
// error says what is wrong with the plugin.
func Describe(p sdk.Plugin) (sdk.Description, error) { return describe.Of(p) }

// answer serves the arguments that a person or a discovering kernel gives.
func answer(s *server, self, arg string, stdout, stderr io.Writer) int {
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
		byHand(s, self, stdout)
	default:
		fmt.Fprintf(stderr, "unknown argument %q\n", arg)
		byHand(s, self, stderr)
		return exitByHand
	}
	return exitOK
}

// invocation is how the plugin was called, without args: the name of its own binary, or the words with
// which a program that carries it was told to serve it.
func invocation(name string, line, args []string) string {
	words := line[:max(0, len(line)-len(args))]
	if len(words) < 2 {
		return "agent-plugin-" + name
	}
	return strings.Join(append([]string{filepath.Base(words[0])}, words[1:]...), " ")
}

// byHand explains the plugin to a person, who called it as self.
func byHand(s *server, self string, w io.Writer) {
	d := s.description
	fmt.Fprintf(w, "%s %s is a plugin of agent-pipelines, which starts it when a pipeline needs it.\n", self, d.Version)
	fmt.Fprintln(w, "It serves:")
	for _, c := range d.Components {
		fmt.Fprintf(w, "  %-12s %s\n", c.Kind, c.Name)
	}
	if strings.Contains(self, " ") {
		fmt.Fprintln(w, "It is part of this program and needs no installation: see it in `agent-pipelines plugins list`.")
		fmt.Fprintf(w, "`%s describe` prints what it offers as JSON.\n", self)
		return
	}
	fmt.Fprintln(w, "To use it, put it into ~/.config/agent-pipelines/plugins (or give its directory as --plugin-dir) and see")
	fmt.Fprintf(w, "it in `agent-pipelines plugins list`. `%s describe` prints what it offers as JSON.\n", self)
}

// serveKernel speaks with the kernel until it says goodbye.
func (s *server) serveKernel() {
	life := watchHost(s)
	defer life.end()
	once := settleOnce(os.Stderr)
	goplugin.Serve(s.config(once))
	s.shutdownComponents()
}

// config is what go-plugin is to serve, on a server with further options.
func (s *server) config(further []grpc.ServerOption) *goplugin.ServeConfig {
	return &goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.Protocol: {wire.PluginSet: &grpcPlugin{server: s}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(opts, limits()...), further...)...)
		},
		Logger: s.log,
	}
}

// limits raise grpc's own limit of 4 MiB, and fix the windows, which are otherwise measured by a ping for what comes. One
// goroutine is kept for calls that come one after the other: its stack has grown to what they take.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.InitialWindowSize(wire.Window), grpc.InitialConnWindowSize(wire.Window),
		grpc.NumStreamWorkers(1),
	}
}
