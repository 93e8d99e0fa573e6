package screen

import (
	"fmt"
	"io"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// Plain writes a line for what a person wants to know, as it happens. It is safe for concurrent use.
type Plain struct {
	mu       sync.Mutex // guards:
	out      io.Writer
	narrator Renderer
	held     bool
	late     heldText
}

// NewPlain returns a view that writes to out. With verbose it says more.
func NewPlain(out io.Writer, verbose bool) *Plain {
	return &Plain{out: out, narrator: Renderer{Verbose: verbose}}
}

// Show writes what an update brings.
func (p *Plain) Show(u engine.Update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.narrator.Lines(u) {
		_ = p.write(line + "\n")
	}
}

// Say writes a line of the command itself.
func (p *Plain) Say(line string) { fmt.Fprintln(p, line) }

// Write lets logs go the same way.
func (p *Plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(b), p.write(string(b))
}

func (p *Plain) write(text string) error {
	if p.held {
		p.late.add(text)
		return nil
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// Hold keeps back what is written, while somebody else uses the terminal.
func (p *Plain) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// Release writes what was kept back, and goes on.
func (p *Plain) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	_ = p.write(p.late.flush())
}

// Close writes what is kept back.
func (p *Plain) Close() { p.Release() }
