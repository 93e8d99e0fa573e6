package proof

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script has a denied call, two concurrent calls and every effect.
func script() [][]sdk.ToolCall {
	return [][]sdk.ToolCall{
		{{CallID: "1a", Tool: "read", Effect: sdk.EffectNone}},
		{{CallID: "2a", Tool: "write", Effect: sdk.EffectIdempotent}, {CallID: "2b", Tool: "send", Effect: sdk.EffectOnce}},
		{{CallID: "3a", Tool: "forbidden", Effect: sdk.EffectOnce}, {CallID: "3b", Tool: "send", Effect: sdk.EffectOnce}},
		{{CallID: "4a", Tool: "send", Effect: sdk.EffectOnce}},
	}
}

// connect serves the loop. stop ends the connection, the server and the provider's state, as the
// end of the provider's process would.
func connect(t *testing.T, w *world) (p sdk.Provider, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "proof") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	plugin := sdk.Plugin{Name: "loop", Version: "1.0.0", Providers: []sdk.Provider{loop{script(), w}}}
	server, err := serve.Start(plugin, listener)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	return client.FromConn(conn).Provider(loop{}.Describe()), func() {
		_ = conn.Close()
		server.Close()
		_ = os.RemoveAll(dir)
	}
}

// attempt runs one attempt with a kernel that dies after a number of entries.
func attempt(t *testing.T, k *kernel, w *world, lives int) (string, error) {
	t.Helper()
	p, stop := connect(t, w)
	defer stop()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	k.lives, k.kill = lives, kill
	req := sdk.ExecuteRequest{Grace: 1}
	if len(k.journal) > 0 {
		req.Resume = k.resume()
	}
	result, err := p.Execute(ctx, req, k)
	return result.Output, err
}

// TestLoopWithoutCrash checks that gated calls run once, that a denied call never runs, and that the
// model gets the reason.
func TestLoopWithoutCrash(t *testing.T) {
	w := &world{times: map[string]int{}}
	output, err := attempt(t, &kernel{}, w, -1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(output, `3a: denied "not here"`) || w.times["3a"] != 0 {
		t.Errorf("the denied call was made %d times; the model received:\n%s", w.times["3a"], output)
	}
	for _, id := range []string{"1a", "2a", "2b", "3b", "4a"} {
		if w.times[id] != 1 {
			t.Errorf("call %s was made %d times, want once", id, w.times[id])
		}
	}
}

// TestLoopKilledAnywhere kills the kernel after each journal entry and resumes. No finished call
// and no call with effect once may be repeated, and the loop must end.
func TestLoopKilledAnywhere(t *testing.T) {
	whole := &kernel{}
	if _, err := attempt(t, whole, &world{times: map[string]int{}}, -1); err != nil {
		t.Fatal(err)
	}
	for lives := 1; lives <= len(whole.journal); lives++ {
		t.Run(fmt.Sprintf("after entry %d", lives), func(t *testing.T) {
			k, w := &kernel{}, &world{times: map[string]int{}}
			if _, err := attempt(t, k, w, lives); err == nil {
				t.Fatal("the attempt outlived its kernel")
			}
			finished := map[string]int{}
			for _, e := range k.journal {
				if e.result != nil {
					finished[e.result.CallID] = w.times[e.result.CallID]
				}
			}
			output, err := attempt(t, k, w, -1)
			if err != nil {
				t.Fatalf("resumed: %v", err)
			}
			if got := strings.Count(output, "\n") + 1; got != 6 {
				t.Errorf("the model received %d calls, want 6:\n%s", got, output)
			}
			for id, times := range finished {
				if w.times[id] != times {
					t.Errorf("call %s was finished and was made again", id)
				}
			}
			for _, calls := range script() {
				for _, call := range calls {
					if call.Effect == sdk.EffectOnce && w.times[call.CallID] > 1 {
						t.Errorf("call %s with effect once was made %d times", call.CallID, w.times[call.CallID])
					}
				}
			}
		})
	}
}
