package cli

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U266: status lists the isolation of each plugin once, and unrequested isolation only if a mechanism is missing.
func TestIsolation(t *testing.T) {
	strict := &event.SandboxData{
		Mode: "strict", Network: "off", Landlock: 7, Seccomp: true, Bubblewrap: "0.8.0", Memory: 2 << 30, Processes: 64, CPU: 90,
	}
	processes := []event.PluginData{
		{Plugin: "/opt/agent-plugin-none"},
		{Plugin: "/opt/agent pipelines plugin serve claude", Sandbox: strict},
		{Plugin: "/opt/agent pipelines plugin serve claude", Sandbox: strict},
		{Plugin: "/opt/agent-plugin-judge", Sandbox: &event.SandboxData{Mode: "workspace", Network: "off", Unasked: true, Landlock: 7}},
		{Plugin: "/opt/agent-plugin-other", Sandbox: &event.SandboxData{Mode: "none", Network: "on", Unasked: true, Lacks: []string{"a", "b"}}},
	}
	for _, tools := range []string{"loopback", "on"} {
		processes = append(processes, event.PluginData{Plugin: "/opt/agent-plugin-agent", Sandbox: &event.SandboxData{Mode: "strict", Network: "on", ToolsNetwork: tools}})
	}
	for _, guarded := range []bool{false, true} { // without: the system makes no mount namespace
		processes = append(processes, event.PluginData{Plugin: "/opt/agent-plugin-codex", Sandbox: &event.SandboxData{Mode: "workspace", Network: "on", Guarded: guarded}})
	}
	want := []string{
		"claude: strict, network off, 2048 MiB each, 64 processes, 90s of processor time each (Landlock 7, seccomp, bubblewrap 0.8.0)",
		"other: none, network on; lacks: a; b",
		"agent: strict, network on, of tools loopback",
		"agent: strict, network on",
		"codex: workspace, network on; does not protect .git and .claude",
		"codex: workspace, network on",
	}
	compare(t, want, IsolationLines(processes))
}
