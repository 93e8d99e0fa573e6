package confine

import (
	"path/filepath"
	"slices"
	"strings"
)

// These variables hold for a plugin what its sandbox allows.
const (
	// ModeVariable holds the sandbox's mode, workspace or strict. An agent's own sandbox cannot run inside this sandbox.
	ModeVariable = "AGENT_PIPELINES_SANDBOX"
	// ToolsVariable holds the [Network] of the tools that the plugin starts. It is set for a provider that confines its
	// tools itself.
	ToolsVariable = "AGENT_PIPELINES_TOOLS_NETWORK"
	// WriteVariable lists the paths outside of the working directory that the plugin may write, separated by colons: its
	// temporary directory, caches, and what the user grants. It is set with ToolsVariable.
	WriteVariable = "AGENT_PIPELINES_TOOLS_WRITE"
)

// LeastABI is the first Landlock ABI that also confines signals and abstract sockets.
const LeastABI = 6

// leastFilesABI is the first Landlock ABI that restricts every change of a file's content.
const leastFilesABI = 3

// toolDevices can be written by every tool.
var toolDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// resolveUnixABI is the first Landlock ABI with which a sandbox closes Unix sockets that have a path.
const resolveUnixABI = 9

// Tool returns the command that starts a tool of a plugin, a program at an absolute path, in a restriction of its own. The
// tool and all that it starts have only the network of [ToolsVariable]: with [Loopback] each tool has an interface of its
// own. They can neither signal nor trace the plugin. They cannot leave the plugin's sandbox either.
//
// env is the plugin's own environment. Without [ToolsVariable] in it, the result is path and args. A restriction that
// cannot be applied ends the tool with [ExitStartError] and the line of a [StartError] on stderr, before it does anything.
//
// The command starts the plugin's own program, /proc/self/exe, with [Verb]: serve.Main handles it, and so does a main
// function that calls [Main] first. It is safe for concurrent use.
func Tool(env []string, path string, args []string) (name string, all []string) {
	return toolSpec(env).command(path, args)
}

// ReadOnlyTool is [Tool] for a tool that may write only the paths of [WriteVariable] and the further paths write, which
// are absolute. Landlock before ABI 3 (Linux 6.2) does not restrict its files, which only a sandbox in mode strict allows.
func ReadOnlyTool(env, write []string, path string, args []string) (name string, all []string) {
	o := toolSpec(env)
	if abi := min(ABI(), MaxABI); abi >= leastFilesABI {
		o.Landlock, o.Files, o.Read, o.Devices = abi, true, []string{"/"}, toolDevices
		o.Write = append(filepath.SplitList(lookup(env, WriteVariable)), write...)
	}
	return o.command(path, args)
}

// command returns the command that starts a program with these restrictions. Without a [Network] the plugin has no sandbox,
// and neither has the program.
func (o Spec) command(path string, args []string) (name string, all []string) {
	if o.Network == "" {
		return path, args
	}
	o.Exec = path
	return "/proc/self/exe", slices.Concat([]string{Verb, o.String(), path}, args)
}

// toolSpec returns the restrictions of a tool; its Network is "" if there are none.
func toolSpec(env []string) Spec {
	network := Network(lookup(env, ToolsVariable))
	o := Spec{Network: network, Seccomp: true, OwnNetwork: network == Loopback}
	abi := min(ABI(), MaxABI)
	if abi >= LeastABI {
		o.Landlock = abi
	}
	// Files of strict are its own; in workspace a socket outside could be connected to by its path.
	o.NoUnix = network == Loopback && lookup(env, ModeVariable) != "strict" && abi < resolveUnixABI
	return o
}

// lookup returns the last value of a variable, "" for none.
func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}
