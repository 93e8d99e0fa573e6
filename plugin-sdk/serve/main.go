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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// Main runs the plugin and ends the process. A plugin's main function calls nothing else.
func Main(p sdk.Plugin) {
	os.Exit(Run(p, os.Args[1:]))
}

// Run is [Main] for a program with its own command line: args are the arguments after the words
// that select the plugin. Run returns the exit code after the kernel's shutdown. After a kernel's
// death Run does not return, because it kills the process group.
func Run(p sdk.Plugin, args []string) int {
	if len(args) > 0 && args[0] == confine.Verb {
		return confine.Main(args[1:])
	}
	o := defaultOptions()
	o.log = Logger(p.Name)
	debugging := len(args) > 0 && args[0] == "debug"
	if debugging { // the user reads the log
		o.log = hclog.New(&hclog.LoggerOptions{Name: p.Name, Output: os.Stderr, Level: hclog.LevelFromString(os.Getenv(wire.LogLevel))})
	}
	s, err := newServer(p, o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-plugin-%s cannot be served:\n%v\n", p.Name, err)
		return exitInvalid
	}
	if debugging {
		return s.debug(os.Stdout, os.Stderr)
	}
	self := invocation(p.Name, os.Args, args)
	if len(args) > 0 {
		return answer(s, self, args[0], os.Stdout, os.Stderr)
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		printHelp(s, self, os.Stderr)
		return exitUsage
	}
	s.serveKernel()
	return exitOK
}

// Logger returns a logger that writes JSON lines to stderr for the kernel. --plugin-log-level sets
// its level; default: info. The kernel names the lines after the plugin and redacts secrets.
func Logger(name string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: name, Output: os.Stderr, JSONFormat: true, Level: hclog.LevelFromString(os.Getenv(wire.LogLevel)),
	})
}

// Description returns the plugin's description without serving it, for programs that contain the
// plugin. It returns an error if the plugin is invalid.
func Description(p sdk.Plugin) (sdk.Description, error) { return describe.Build(p) }

// answer handles the argument of a user or of the kernel's discovery.
func answer(s *server, self, arg string, stdout, stderr io.Writer) int {
	switch arg {
	case "describe":
		out, err := json.MarshalIndent(s.description, "", "  ")
		if err != nil {
			fmt.Fprintf(stderr, "describe: %v\n", err)
			return exitInvalid
		}
		fmt.Fprintf(stdout, "%s\n", out)
	case "version", "--version":
		fmt.Fprintf(stdout, "agent-plugin-%s %s\n", s.description.Name, s.description.Version)
	case "help", "--help", "-h":
		printHelp(s, self, stdout)
	default:
		fmt.Fprintf(stderr, "unknown argument %q\n", arg)
		printHelp(s, self, stderr)
		return exitUsage
	}
	return exitOK
}

// invocation returns the command that started the plugin, without args. It is the name of the plugin's
// binary, or the words by which a program that contains the plugin serves the plugin.
func invocation(name string, line, args []string) string {
	words := line[:max(0, len(line)-len(args))]
	if len(words) < 2 {
		return "agent-plugin-" + name
	}
	return strings.Join(append([]string{filepath.Base(words[0])}, words[1:]...), " ")
}

// printHelp prints help for a user who started the plugin as self.
func printHelp(s *server, self string, w io.Writer) {
	d := s.description
	fmt.Fprintf(w, "%s %s is a plugin for pipelines of agents. The program that runs your pipelines starts it.\n", self, d.Version)
	fmt.Fprintln(w, "It serves:")
	for _, c := range d.Components {
		fmt.Fprintf(w, "  %-12s %s\n", c.Kind, c.Name)
	}
	if program, _, part := strings.Cut(self, " "); part {
		fmt.Fprintf(w, "It is part of this program and needs no installation: see it in `%s plugins list`.\n", program)
		fmt.Fprintf(w, "`%s describe` prints its components as JSON.\n", self)
		return
	}
	fmt.Fprintln(w, "To use it, put it into your plugin directory, or give its directory as --plugin-dir. The command `plugins list`")
	fmt.Fprintf(w, "of the program that runs your pipelines shows the directories. `%s describe` prints its components as JSON.\n", self)
}

// serveKernel serves the kernel until the kernel shuts the plugin down.
func (s *server) serveKernel() {
	if os.Getenv(wire.Process) != "" { // a check of the plugin reads its environment
		DenyMemoryAccess()
	}
	watch := watchHost(s)
	defer watch.end()
	once := clearHandshakeOnce(os.Stderr)
	config := s.config(once)
	end, err := secure(config)
	if err != nil {
		s.log.Error("the socket to the kernel cannot be secured", "error", err)
		return
	}
	defer end()
	goplugin.Serve(config)
	s.shutdownComponents()
}
