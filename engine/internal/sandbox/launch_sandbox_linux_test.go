package sandbox_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Without a box the same probes get out: they can fail, and what stops them below is the box.
func TestHostilePluginWithoutBox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		tg := newTargets(t)
		done := probe(t, newHost(t).must(hostile(t), nil, tg.Workspace), tg)
		for _, name := range slices.Sorted(maps.Keys(done)) {
			if done[name] == "" {
				continue
			}
			if class, _, _ := strings.Cut(name, ":"); class == "system" || class == "root" || name == "network: tcp6" || name == "network: mptcp" {
				t.Logf("%s: shows nothing here, it fails without a box, too: %s", name, done[name])
				continue
			}
			t.Errorf("%s: %s", name, done[name])
		}
	})
}

func TestHostilePluginInBox(t *testing.T) {
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
				i := h.must(path, tg.box(tt.mode, tt.network), tg.Workspace)
				done := probe(t, i, tg)
				judge(t, done, tt.may...)
				if o := i.Sandbox(); o.Mode != tt.mode || o.Network != tt.network || !o.Seccomp || len(o.Missing) > 0 {
					t.Errorf("obtained %+v", o)
				}
			})
		}
	})
}

// BenchmarkStartInBox is the time from the order to the plugin's first answer, with each kind of box beside none in
// the same round: medians over the rounds, and the median of the rounds' ratios.
func BenchmarkStartInBox(b *testing.B) {
	kinds := []struct {
		name string
		box  *sandboxpolicy.Policy
	}{
		{"none", nil},
		{"workspace", &sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off}},
		{"workspace+network", &sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On}},
		{"strict", &sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}},
		{"strict+network", &sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.On}},
	}
	for name, mtls := range map[string]bool{"plain": false, "mtls": true} {
		b.Run(name, func(b *testing.B) {
			h := newHost(b)
			path := hostile(b)
			took := make([][]time.Duration, len(kinds))
			for i := range kinds {
				startToAnswer(b, h, path, kinds[i].box, mtls) // the first start of a kind proves it
			}
			for round := 0; b.Loop(); round++ {
				for i := range kinds {
					k := (i + round) % len(kinds) // each kind is first in turn
					took[k] = append(took[k], startToAnswer(b, h, path, kinds[k].box, mtls))
				}
			}
			for i, k := range kinds {
				ratios := make([]float64, len(took[i]))
				for round, d := range took[i] {
					ratios[round] = float64(d) / float64(took[0][round])
				}
				b.ReportMetric(float64(median(took[i]).Microseconds())/1000, k.name+"-ms")
				if i > 0 {
					b.ReportMetric(median(ratios), k.name+"/none")
				}
			}
		})
	}
}

func startToAnswer(b *testing.B, h *host, path string, box *sandboxpolicy.Policy, mtls bool) time.Duration {
	b.Helper()
	binary := testkit.Must(catalog.NewVerifier().Open(path))
	defer binary.Close()
	begun := time.Now()
	i, err := h.launcher.Start(b.Context(), launch.StartRequest{Binary: binary, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/usr", MTLS: mtls, Box: box})
	took := time.Since(begun)
	testkit.OK(b, err)
	i.Stop(context.Background())
	return took
}

func median[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
