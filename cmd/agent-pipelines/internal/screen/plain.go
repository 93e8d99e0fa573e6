package screen

import (
	"fmt"
	"io"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// Plain writes the lines of updates as they come. It is safe for concurrent use.
type Plain struct {
	mu       sync.Mutex // guards:
	out      io.Writer
	renderer Renderer
	paused   bool
	late     heldText
}

// NewPlain returns a view that writes to out. With verbose it writes more.
func NewPlain(out io.Writer, verbose bool) *Plain {
	return &Plain{out: out, renderer: Renderer{Verbose: verbose}}
}

// Show writes the lines of an update.
func (p *Plain) Show(u engine.Update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.renderer.Lines(u) {
		_ = p.write(line + "\n")
	}
}

// WriteLine writes a line of the command itself.
func (p *Plain) WriteLine(line string) { fmt.Fprintln(p, line) }

// Write writes lines of logs.
func (p *Plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(b), p.write(string(b))
}

func (p *Plain) write(text string) error {
	if p.paused {
		p.late.add(text)
		return nil
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// Hold holds all lines back while another part of the program uses the terminal.
func (p *Plain) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
}

// Release writes the lines that were held back, and ends Hold.
func (p *Plain) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
	_ = p.write(p.late.flush())
}

// Close writes the lines that were held back.
func (p *Plain) Close() { p.Release() }
