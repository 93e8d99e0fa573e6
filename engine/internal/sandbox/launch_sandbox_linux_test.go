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

func TestHostilePluginInSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		h := newHost(t)
		path := hostile(t)
		for _, tt := range []struct {
			mode    sandboxpolicy.Mode
			network sandboxpolicy.Network
			may     []string
		}{
			{sandboxpolicy.Workspace, sandboxpolicy.Off, []string{"may:", "mode:"}},
			{sandboxpolicy.Strict, sandboxpolicy.Off, []string{"may:"}},
			{sandboxpolicy.Strict, sandboxpolicy.Loopback, []string{"may:"}},
			{sandboxpolicy.Workspace, sandboxpolicy.On, []string{"may:", "mode:", "network:", "socket: by path", "socket: datagram"}},
			{sandboxpolicy.Strict, sandboxpolicy.On, []string{"may:", "network:"}},
		} {
			t.Run(string(tt.mode)+" "+string(tt.network), func(t *testing.T) {
				tg := newTargets(t)
				i := h.must(path, tg.policy(tt.mode, tt.network), tg.Workspace)
				done := probe(t, i, tg)
				judge(t, done, tt.may...)
				if o := i.Sandbox(); o.Mode != tt.mode || o.Network != tt.network || !o.Seccomp || len(o.Missing) > 0 {
					t.Errorf("obtained %+v", o)
				}
			})
		}
	})
}
