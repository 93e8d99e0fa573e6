package bare_test

import (
	"net"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/bare"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCalls(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- bare.Serve(l) }()
	c, err := bare.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Unary(t.Context(), []byte("question")); err != nil {
			t.Errorf("unary: %v", err)
		}
		if err := c.Stream(t.Context(), []byte("question")); err != nil {
			t.Errorf("stream: %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := c.Unary(t.Context(), nil); err == nil {
		t.Error("a closed client calls")
	}
}
