package subprocess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// HandshakeLine is a parsed handshake line.
type HandshakeLine struct {
	Core, Protocol, Network, Address, Transport string
}

// ParseHandshakeLine parses a line; ok is false for a line that is not a handshake.
func ParseHandshakeLine(line string) (g HandshakeLine, ok bool) {
	f := strings.Split(strings.TrimSpace(line), "|")
	if len(f) < 4 || strings.Trim(f[0], "0123456789") != "" || f[0] == "" {
		return HandshakeLine{}, false
	}
	g = HandshakeLine{Core: f[0], Protocol: f[1], Network: f[2], Address: f[3]}
	if len(f) > 4 {
		g.Transport = f[4]
	}
	return g, true
}

// Faults returns the faults of a handshake line.
func (g HandshakeLine) Faults() []string {
	var faults []string
	want := func(name, got, want string) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is %q, want %q", name, got, want))
		}
	}
	want("the core protocol", g.Core, "1")
	want("the protocol version", g.Protocol, fmt.Sprint(wire.Protocol))
	want("the network", g.Network, "unix")
	want("the transport", g.Transport, "grpc")
	return faults
}

// Session is a process of the plugin with a connection.
type Session struct {
	*Process
	Dir    string
	Conn   *grpc.ClientConn
	Client *client.Client
	Work   sync.WaitGroup // attempts in progress
	// InitErrors are the errors of Init by component.
	InitErrors map[wire.Ref]error

	server *serve.Server // of a plugin in this process
}

// Serve serves a plugin in this process and returns a session without a process of its own.
func Serve(p sdk.Plugin) (*Session, error) {
	dir, err := SocketDir()
	if err != nil {
		return nil, err
	}
	s := &Session{Process: Foreign(Spec{Marker: NewMarker()}, 0), Dir: dir}
	path := filepath.Join(dir, "socket")
	listener, err := net.Listen("unix", path)
	if err == nil {
		s.server, err = serve.Start(p, listener)
	}
	if err == nil {
		err = s.connect(path)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ReadHandshake waits for the handshake line.
func (p *Process) ReadHandshake(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, StartLimit, fmt.Errorf("no handshake within %s", StartLimit))
	defer cancel()
	for {
		text, over, more := p.Stdout.Snapshot()
		if line, _, complete := strings.Cut(text, "\n"); complete || len(text) >= maxCaptured {
			return line, nil
		}
		if over {
			return text, errors.New("the plugin ended before its handshake")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return text, context.Cause(ctx)
		}
	}
}

// Connect connects to the address in a handshake line.
func (s *Session) Connect(line string) error {
	g, ok := ParseHandshakeLine(line)
	if !ok {
		return fmt.Errorf("%q is not a handshake line", Shorten(line))
	}
	return s.connect(g.Address)
}

func (s *Session) connect(socket string) error {
	conn, err := grpc.NewClient("unix:"+socket,
		append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", socket, err)
	}
	s.Conn, s.Client = conn, client.FromConn(conn)
	return nil
}

// Close ends the process and its children, waits for the attempts in progress, and removes Dir.
func (s *Session) Close() {
	if s.Conn != nil {
		_ = s.Conn.Close()
	}
	s.KillAll()
	if s.server != nil {
		s.server.Close()
	}
	s.Work.Wait()
	_ = os.RemoveAll(s.Dir)
}

// Alive returns an error if the process no longer answers.
func (s *Session) Alive(ctx context.Context) error {
	if s.Ended() {
		return fmt.Errorf("the process ended (%s)%s", s.Exit(), s.LastStderr())
	}
	ctx, cancel := context.WithTimeout(ctx, Slack)
	defer cancel()
	if err := s.Client.Health(ctx); err != nil {
		if Poll(context.WithoutCancel(ctx), 2*stderrWait, s.Ended) {
			return fmt.Errorf("the process ended (%s)%s", s.Exit(), s.LastStderr())
		}
		return fmt.Errorf("the process no longer answers: %w", err)
	}
	return nil
}

// LastStderr returns the end of stderr, for a report.
func (p *Process) LastStderr() string {
	if p.stderr == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.Text()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; end of stderr: " + Shorten(last)
	}
	return ""
}

// Init calls Init once per component, as the kernel does before other calls.
func (s *Session) Init(ctx context.Context, components []sdk.Component, dir string) {
	s.InitErrors = map[wire.Ref]error{}
	for _, c := range components {
		var remote any
		switch c.Kind {
		case sdk.KindTermination:
			remote = s.Client.Termination(c)
		case sdk.KindHookAction:
			remote = s.Client.HookAction(c)
		default:
			remote = s.Client.Provider(c)
		}
		err := remote.(sdk.Initializer).Init(ctx, sdk.InitRequest{WorkDir: dir, RunMarker: s.Spec.Marker})
		s.InitErrors[wire.Ref{Kind: c.Kind, Name: c.Name}] = err
	}
}

// Shorten shortens a plugin's text to one line of a report.
func Shorten(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}

// IsBelow reports whether a path is below a directory.
func IsBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel)
}

// WithTimeout returns ctx with a deadline.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}
