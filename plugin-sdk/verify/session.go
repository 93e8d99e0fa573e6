package verify

import (
	"context"
	"errors"
	"fmt"
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
)

// handshakeLine is a parsed handshake line.
type handshakeLine struct {
	core, protocol, network, address, transport string
}

// parseHandshakeLine parses a line; ok is false for a line that is not a handshake.
func parseHandshakeLine(line string) (g handshakeLine, ok bool) {
	f := strings.Split(strings.TrimSpace(line), "|")
	if len(f) < 4 || strings.Trim(f[0], "0123456789") != "" || f[0] == "" {
		return handshakeLine{}, false
	}
	g = handshakeLine{core: f[0], protocol: f[1], network: f[2], address: f[3]}
	if len(f) > 4 {
		g.transport = f[4]
	}
	return g, true
}

// faults returns the faults of a handshake line.
func (g handshakeLine) faults() []string {
	var faults []string
	want := func(name, got, want string) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is %q, want %q", name, got, want))
		}
	}
	want("the core protocol", g.core, "1")
	want("the protocol version", g.protocol, fmt.Sprint(wire.Protocol))
	want("the network", g.network, "unix")
	want("the transport", g.transport, "grpc")
	return faults
}

// session is a process of the plugin with a connection.
type session struct {
	*process
	dir    string
	conn   *grpc.ClientConn
	client *client.Client
	work   sync.WaitGroup // attempts in progress
}

// open starts the plugin, performs the handshake and connects. The caller closes the session.
func (t *trial) open(ctx context.Context, options ...client.Option) (*session, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	p, err := start(t.spec().handshaking(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	s := &session{process: p, dir: dir}
	line, err := p.readHandshake(ctx)
	if err == nil {
		err = s.connect(line, options...)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// readHandshake waits for the handshake line.
func (p *process) readHandshake(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no handshake within %s", startLimit))
	defer cancel()
	for {
		text, over, more := p.stdout.snapshot()
		if line, _, complete := firstLine(text); complete || len(text) >= maxCaptured {
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

// connect connects to the address in a handshake line.
func (s *session) connect(line string, options ...client.Option) error {
	g, ok := parseHandshakeLine(line)
	if !ok {
		return fmt.Errorf("%q is not a handshake line", shorten(line))
	}
	conn, err := grpc.NewClient("unix:"+g.address,
		append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", g.address, err)
	}
	s.conn, s.client = conn, client.FromConn(conn, options...)
	return nil
}

// close ends the process and everything that is left of it.
func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.killAll()
	s.work.Wait()
	_ = os.RemoveAll(s.dir)
}

// alive returns an error if the process no longer answers.
func (s *session) alive(ctx context.Context) error {
	if s.ended() {
		return fmt.Errorf("the process ended (%s)%s", s.exit(), s.lastStderr())
	}
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	if err := s.client.Health(ctx); err != nil {
		if poll(context.WithoutCancel(ctx), 2*stderrWait, s.ended) {
			return fmt.Errorf("the process ended (%s)%s", s.exit(), s.lastStderr())
		}
		return fmt.Errorf("the process no longer answers: %w", err)
	}
	return nil
}

// lastStderr returns the end of stderr, for a report.
func (p *process) lastStderr() string {
	if p.stderr == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.text()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; end of stderr: " + shorten(last)
	}
	return ""
}

// component returns a client of the component, as the kernel would call it.
func (s *session) component(c sdk.Component) remote {
	switch c.Kind {
	case sdk.KindTermination:
		return s.client.Termination(c).(remote)
	case sdk.KindHookAction:
		return s.client.HookAction(c).(remote)
	default:
		return s.client.Provider(c).(remote)
	}
}

// remote is the interface that clients of all component kinds share.
type remote interface {
	sdk.Initializer
	sdk.Validator
}

// prepare calls Init once per process and component, as the kernel does before other calls.
func (s *session) prepare(ctx context.Context, c sdk.Component, dir string) error {
	return s.component(c).Init(ctx, sdk.InitRequest{WorkDir: dir, RunMarker: s.spec.Marker})
}

// shorten shortens a plugin's text to one line of a report.
func shorten(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}

// isBelow reports whether a path is below a directory.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsAbs(path) && rel != ".." && !strings.HasPrefix(rel, "../")
}

// withTimeout returns ctx with a deadline.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}
