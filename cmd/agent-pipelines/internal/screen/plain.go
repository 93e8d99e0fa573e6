package screen

import (
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// Plain writes a line for what a person wants to know, as it happens. It is used from one goroutine.
type Plain struct {
	out      io.Writer
	narrator Narrator
}

// NewPlain returns a view that writes to out. With verbose it says more.
func NewPlain(out io.Writer, verbose bool) *Plain {
	return &Plain{out: out, narrator: Narrator{Verbose: verbose}}
}

// Show writes what an update brings.
func (p *Plain) Show(u kernel.Update) {
	for _, line := range p.narrator.Lines(u) {
		fmt.Fprintln(p.out, line)
	}
}

// Say writes a line of the command itself.
func (p *Plain) Say(line string) { fmt.Fprintln(p.out, line) }

// Write lets logs go the same way.
func (p *Plain) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close does nothing: everything is written.
func (p *Plain) Close() {}
