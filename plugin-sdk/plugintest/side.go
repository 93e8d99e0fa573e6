package plugintest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// patience is the time after which the suite regards a component as stuck.
const patience = 30 * time.Second

// side is one way to reach the components of a plugin.
type side struct {
	description sdk.Description
	plugin      sdk.Plugin // the components, or clients of them
}

// check is one requirement; it gets a new plugin.
type check struct {
	name string
	run  func(t *testing.T, s side)
}

// runBoth runs every check on a plugin in this process and on one over a socket.
func runBoth(t *testing.T, build func(testing.TB) sdk.Plugin, checks []check) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { each(t, build, direct, checks) })
	t.Run("grpc", func(t *testing.T) { each(t, build, overSocket, checks) })
}

func each(t *testing.T, build func(testing.TB) sdk.Plugin, reach func(*testing.T, sdk.Plugin) side, checks []check) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs last, after all clean-ups
			c.run(t, reach(t, build(t)))
		})
	}
}

// direct returns the plugin itself.
func direct(t *testing.T, p sdk.Plugin) side {
	t.Helper()
	d, err := describe.Build(p)
	if err != nil {
		t.Fatalf("the description breaks the rules:\n%v", err)
	}
	return side{description: d, plugin: p}
}

// overSocket serves the plugin and returns a client of it.
func overSocket(t *testing.T, p sdk.Plugin) side {
	t.Helper()
	c := connect(t, p)
	d, err := c.Describe(t.Context())
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	s := side{description: d, plugin: sdk.Plugin{Name: d.Name, Version: d.Version}}
	for _, component := range d.Components {
		switch component.Kind {
		case sdk.KindProvider:
			s.plugin.Providers = append(s.plugin.Providers, c.Provider(component))
		case sdk.KindTermination:
			s.plugin.Terminations = append(s.plugin.Terminations, c.Termination(component))
		case sdk.KindHookAction:
			s.plugin.HookActions = append(s.plugin.HookActions, c.HookAction(component))
		}
	}
	return s
}

// connect returns a client of the served plugin; both are closed with the test. The socket has a
// directory of its own because t.TempDir may be too long for a socket's path.
func connect(t *testing.T, p sdk.Plugin) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "plugintest") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.Start(p, listener)
	if err != nil {
		_ = listener.Close()
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	options := append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("unix:"+path, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client.FromConn(conn)
}

// testContext returns the test's context with a deadline.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Exchange records what a provider reports and answers its gated calls. The zero value lets every call
// run and stores every checkpoint. Set the fields before the first use; the methods are safe for
// concurrent use.
type Exchange = record.Exchange

// Record is the list of all reports, each kind in order of arrival.
type Record = record.Record
