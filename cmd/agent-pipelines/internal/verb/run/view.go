package run

import (
	"io"

	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// view shows a session while it runs. It is also the writer of the log.
type view interface {
	io.Writer
	Show(u engine.Update)
	WriteLine(line string)
	// Hold buffers the output until Release, while a question uses the terminal.
	Hold()
	Release()
	Close()
}

// newView returns the view for standard error: none with --quiet, live lines on a terminal, else plain lines.
func newView(a *cli.App, out io.Writer) view {
	if a.Quiet {
		return quietView{out}
	}
	fd, terminal := a.Terminal()
	switch {
	case !terminal && onGitHub(a):
		return screen.NewGitHub(out, a.Verbose)
	case !terminal:
		return screen.NewPlain(out, a.Verbose)
	}
	return screen.NewLive(out, screen.LiveOptions{
		Footer: &tree.Model{}, Color: a.Colored(), Verbose: a.Verbose, Silent: screen.IsSilent(a.Getenv),
		Size: func() (width, height int) {
			width, height, err := term.GetSize(fd)
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	})
}

// quietView is a view that writes only the log.
type quietView struct{ io.Writer }

func (quietView) Show(engine.Update) {}
func (quietView) WriteLine(string)   {}
func (quietView) Hold()              {}
func (quietView) Release()           {}
func (quietView) Close()             {}
