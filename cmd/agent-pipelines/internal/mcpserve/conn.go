package mcpserve

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// conn ends when every request has its answer. It is safe for concurrent use as its parent is: one reader, any number of
// writers.
type conn struct {
	mcp.Connection
	onClose func()

	once   sync.Once
	closed chan struct{}

	mu       sync.Mutex    // guards:
	open     int           // requests without an answer
	answered chan struct{} // closed when there are none left; nil without a waiter
}

// Read reads a message. The error that ends the input comes after the last answer was written.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.onClose()
		select {
		case <-c.rest():
		case <-c.closed:
		case <-ctx.Done():
		}
		return m, err
	}
	if r, is := m.(*jsonrpc.Request); is && r.ID.IsValid() {
		c.count(1)
	}
	return m, nil
}

// Write writes a message.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, is := m.(*jsonrpc.Response); is {
		c.count(-1)
	}
	return err
}

// Close ends the connection, even if requests have no answer yet.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *conn) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open += n; c.open <= 0 && c.answered != nil {
		close(c.answered)
		c.answered = nil
	}
}

// rest returns a channel that is closed when every request has its answer.
func (c *conn) rest() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	answered := make(chan struct{})
	if c.open <= 0 {
		close(answered)
	} else {
		c.answered = answered
	}
	return answered
}
