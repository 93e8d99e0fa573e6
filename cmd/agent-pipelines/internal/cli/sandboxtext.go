package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// IsolationLines returns one line for each distinct pair of plugin and isolation, and "none" if no process has a requested
// isolation. Processes whose isolation was not requested are listed only if the system lacks a mechanism.
func IsolationLines(processes []event.PluginData) []string {
	var lines []string
	if len(processes) > 0 && !slices.ContainsFunc(processes, func(p event.PluginData) bool { return p.Sandbox != nil && !p.Sandbox.Unasked }) {
		lines = append(lines, string(plan.SandboxNone))
	}
	for _, p := range processes {
		s := p.Sandbox
		if s == nil || s.Unasked && len(s.Lacks) == 0 {
			continue
		}
		if line := pluginName(p.Plugin) + ": " + isolationText(s); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// RequestedIsolation describes the requested isolation; "" for none.
func RequestedIsolation(s *plan.Sandbox) string {
	if !s.IsRequested() {
		return ""
	}
	c := s.Complete()
	parts := []string{string(c.Mode)}
	add := func(name, value string, set bool) {
		if set {
			parts = append(parts, name+" "+value)
		}
	}
	add("network", string(c.Network), c.Network != "")
	add("reads", strings.Join(c.Read, " "), len(c.Read) > 0)
	add("writes", strings.Join(c.Write, " "), len(c.Write) > 0)
	add("memory", fmt.Sprintf("%d MiB each", c.Memory>>20), c.Memory > 0)
	add("processes", fmt.Sprint(c.Processes), c.Processes > 0)
	add("processor time", fmt.Sprintf("%gs each", c.CPU), c.CPU > 0)
	return strings.Join(parts, ", ")
}

// pluginName returns the plugin's name from the command line of its process.
func pluginName(command string) string {
	words := strings.Fields(command)
	if n := len(words); n >= 4 && words[n-3] == "plugin" && words[n-2] == "serve" {
		return words[n-1]
	}
	return strings.TrimPrefix(filepath.Base(command), "agent-plugin-")
}

// isolationText describes an isolation: "strict, network off (Landlock 7, seccomp, bubblewrap 0.8.0)".
func isolationText(s *event.SandboxData) string {
	var means, limits []string
	if s.Landlock > 0 {
		means = append(means, fmt.Sprint("Landlock ", s.Landlock))
	}
	if s.Seccomp {
		means = append(means, "seccomp")
	}
	if s.Bubblewrap != "" {
		means = append(means, "bubblewrap "+s.Bubblewrap)
	}
	if s.Memory > 0 {
		limits = append(limits, fmt.Sprintf("%d MiB each", s.Memory>>20))
	}
	if s.Processes > 0 {
		limits = append(limits, fmt.Sprint(s.Processes, " processes"))
	}
	if s.CPU > 0 {
		limits = append(limits, fmt.Sprintf("%gs of processor time each", s.CPU))
	}
	network := "network " + s.Network
	if s.ToolsNetwork != "" && s.ToolsNetwork != s.Network {
		network += ", of tools " + s.ToolsNetwork
	}
	text := strings.Join(append([]string{s.Mode, network}, limits...), ", ")
	if len(means) > 0 {
		text += " (" + strings.Join(means, ", ") + ")"
	}
	text += UnprotectedText(s.Mode, s.Guarded)
	if len(s.Lacks) > 0 {
		text += "; lacks: " + strings.Join(s.Lacks, "; ")
	}
	return text
}

// UnprotectedText returns what a mode leaves writable in a project, to follow what it does; "" for nothing.
func UnprotectedText(mode string, guarded bool) string {
	if mode == string(plan.SandboxWorkspace) && !guarded {
		return "; does not protect .git and .claude"
	}
	return ""
}
