package run

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func newPipeReader(t *testing.T) (*lineReader, *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { _ = in.Close(); _ = out.Close(); goleak.VerifyNone(t, running) })
	return newLineReader(in), out
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	r, out := newPipeReader(t)
	if _, err := io.WriteString(out, "approve\r\n\n"+long+"\nno newline"); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"approve", "", long, "no newline"} {
		got, err := r.readLine(t.Context())
		if err != nil || got != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := r.readLine(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadLineIsCanceled(t *testing.T) {
	r, out := newPipeReader(t)
	answered := errors.New("answered elsewhere")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error)
	go func() {
		_, err := r.readLine(ctx)
		got <- err
	}()
	cancel(answered)
	if err := <-got; !errors.Is(err, answered) {
		t.Errorf("the wait ended with %v", err)
	}
	if _, err := r.readLine(ctx); !errors.Is(err, answered) {
		t.Errorf("a wait that is over ended with %v", err)
	}
	if _, err := io.WriteString(out, "for the next question\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.readLine(t.Context()); err != nil || line != "for the next question" {
		t.Errorf("%q, %v", line, err)
	}
}
