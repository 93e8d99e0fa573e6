package mcpserve

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the longest message that is read, in bytes.
const maxMessage = 1 << 20

// stdio is a transport that still writes the answers after the client has closed its end of the input; the SDK's own
// transport drops them.
type stdio struct {
	in  io.Reader
	out io.Writer
	// onClose is called after the client's last message.
	onClose func()
}

// Connect implements [mcp.Transport].
func (t *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := (&mcp.IOTransport{Reader: io.NopCloser(t.in), Writer: unclosed{t.out}, MaxLineLength: maxMessage}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Connection: c, onClose: t.onClose, closed: make(chan struct{})}, nil
}

// unclosed is a writer that another owner closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// conn is a connection that, when its input ends, waits until every request has its answer. It is safe for concurrent use
// by one reader and any number of writers, as the connection that it wraps.
type conn struct {
	mcp.Connection
	onClose func()
	open    sync.WaitGroup // requests without an answer

	once   sync.Once
	closed chan struct{}
}

// Read reads a message. It returns the error that ends the input only after the last answer was written.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.onClose()
		answered := make(chan struct{})
		var waiting sync.WaitGroup // ends with the connection at the latest
		waiting.Go(func() { c.open.Wait(); close(answered) })
		select {
		case <-answered:
		case <-c.closed:
		case <-ctx.Done():
		}
		return m, err
	}
	if r, is := m.(*jsonrpc.Request); is && r.ID.IsValid() {
		c.open.Add(1)
	}
	return m, nil
}

// Write writes a message.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, is := m.(*jsonrpc.Response); is {
		c.open.Done()
	}
	return err
}

// Close ends the connection, even if requests have no answer yet.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
