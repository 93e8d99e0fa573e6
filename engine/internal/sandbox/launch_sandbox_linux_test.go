package sandbox_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Without a sandbox the probes succeed, so that their failures in TestHostilePluginInSandbox come from the sandbox.
func TestHostilePluginWithoutSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		tg := newTargets(t)
		done := probe(t, newHost(t).must(hostile(t), nil, tg.Workspace), tg)
		for _, name := range slices.Sorted(maps.Keys(done)) {
			if done[name] == "" {
				continue
			}
			if class, _, _ := strings.Cut(name, ":"); class == "system" || class == "root" || name == "network: tcp6" || name == "network: mptcp" {
				t.Logf("%s: shows nothing here, it fails without a sandbox, too: %s", name, done[name])
				continue
			}
			t.Errorf("%s: %s", name, done[name])
		}
	})
}

// inNamespace is the probe that a plugin with confined tools passes: its capabilities count in its user namespace alone.
const inNamespace = "root: keep capabilities"

func TestHostilePluginInSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		h := newHost(t)
		path := hostile(t)
		for _, tt := range []struct {
			mode    sandboxpolicy.Mode
			network sandboxpolicy.Network
			tools   sandboxpolicy.Network // asked for; the system of the tests has loopback
			may     []string
		}{
			{sandboxpolicy.Workspace, sandboxpolicy.Off, "", []string{"may:", "mode:"}},
			{sandboxpolicy.Strict, sandboxpolicy.Off, "", []string{"may:"}},
			{sandboxpolicy.Strict, sandboxpolicy.Loopback, "", []string{"may:"}},
			{sandboxpolicy.Workspace, sandboxpolicy.On, "", []string{"may:", "mode:", "network:", "socket: by path", "socket: datagram"}},
			{sandboxpolicy.Strict, sandboxpolicy.On, "", []string{"may:", "network:"}},
			{sandboxpolicy.Workspace, sandboxpolicy.On, sandboxpolicy.Off, []string{"may:", "mode:", "network:", "socket: by path", "socket: datagram", inNamespace}},
			{sandboxpolicy.Strict, sandboxpolicy.On, sandboxpolicy.Loopback, []string{"may:", "network:", inNamespace}},
		} {
			t.Run(string(tt.mode)+" "+string(tt.network)+" "+string(tt.tools), func(t *testing.T) {
				tg := newTargets(t)
				policy := tg.policy(tt.mode, tt.network)
				policy.Tools = tt.tools
				i := h.must(path, policy, tg.Workspace)
				done := probe(t, i, tg)
				judge(t, done, tt.may...)
				if o := i.Sandbox(); o.Mode != tt.mode || o.Network != tt.network || !o.Seccomp || len(o.Missing) > 0 || (o.Tools == sandboxpolicy.Loopback) != (tt.tools != "") {
					t.Errorf("obtained %+v", o)
				}
			})
		}
	})
}
