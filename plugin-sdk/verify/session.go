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

// greeting is a handshake line, taken apart.
type greeting struct {
	core, protocol, network, address, transport string
}

// parseGreeting takes a line apart; ok is false for a line that is no handshake at all.
func parseGreeting(line string) (g greeting, ok bool) {
	f := strings.Split(strings.TrimSpace(line), "|")
	if len(f) < 4 || strings.Trim(f[0], "0123456789") != "" || f[0] == "" {
		return greeting{}, false
	}
	g = greeting{core: f[0], protocol: f[1], network: f[2], address: f[3]}
	if len(f) > 4 {
		g.transport = f[4]
	}
	return g, true
}

// faults are what is wrong with a handshake line.
func (g greeting) faults() []string {
	var faults []string
	want := func(what, got, want string) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is %q, want %q", what, got, want))
		}
	}
	want("the core protocol", g.core, "1")
	want("the protocol version", g.protocol, fmt.Sprint(wire.Protocol))
	want("the network", g.network, "unix")
	want("the transport", g.transport, "grpc")
	return faults
}

// session is a process of the plugin and a connection to it.
type session struct {
	*process
	dir    string
	conn   *grpc.ClientConn
	client *client.Client
	work   sync.WaitGroup // attempts on their way
}

// open starts the plugin, shakes hands and connects. The caller closes the session.
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
	line, err := p.greet(ctx)
	if err == nil {
		err = s.connect(line, options...)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// greet waits for the handshake line.
func (p *process) greet(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no handshake within %s", startLimit))
	defer cancel()
	for {
		text, over, more := p.stdout.look()
		if line, _, complete := firstLine(text); complete || len(text) >= captured {
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

// connect makes the connection that a handshake line names.
func (s *session) connect(line string, options ...client.Option) error {
	g, ok := parseGreeting(line)
	if !ok {
		return fmt.Errorf("%q is no handshake", clip(line))
	}
	conn, err := grpc.NewClient("unix:"+g.address,
		append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", g.address, err)
	}
	s.conn, s.client = conn, client.FromConn(conn, options...)
	return nil
}

// close ends the process with all that is left of it.
func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.clean()
	s.work.Wait()
	_ = os.RemoveAll(s.dir)
}

// alive asks whether the process still answers.
func (s *session) alive(ctx context.Context) error {
	if s.ended() {
		return fmt.Errorf("the process ended (%s)%s", s.exit(), s.lastWords())
	}
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	if err := s.client.Health(ctx); err != nil {
		if until(context.WithoutCancel(ctx), 2*lastWordsTime, s.ended) {
			return fmt.Errorf("the process ended (%s)%s", s.exit(), s.lastWords())
		}
		return fmt.Errorf("the process does not answer any more: %w", err)
	}
	return nil
}

// lastWords are the end of stderr, for a report.
func (p *process) lastWords() string {
	if p.stderr == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.text()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; its last words: " + clip(last)
	}
	return ""
}

// component is the component at the other end, as the kernel would call it.
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

// remote is what the components of all kinds have in common at this end.
type remote interface {
	sdk.Initializer
	sdk.Validator
}

// prepare does what the kernel does before work: Init, once for each process and component.
func (s *session) prepare(ctx context.Context, c sdk.Component, dir string) error {
	return s.component(c).Init(ctx, sdk.InitRequest{WorkDir: dir, RunMarker: s.spec.Marker})
}

// clip shortens what a plugin said for one line of a report.
func clip(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}

// inside says whether a path lies below a directory.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsAbs(path) && rel != ".." && !strings.HasPrefix(rel, "../")
}

// within is ctx with an end.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}
