package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/bundle"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Export is the verb `export <session>`.
type Export struct {
	Session string `arg:"" help:"The session: running, paused or ended."`
	Output  string `short:"o" placeholder:"FILE" help:"Write the archive to this new file (default <session>.tar.gz in the current directory)."`
}

// Help returns the text below the usage.
func (*Export) Help() string {
	return `The archive contains the session's files in a directory of its name. The first file is MANIFEST.json,
which lists all files with their digests. Secrets are redacted in all text files.

Examples:
  agent-pipelines export auth
  agent-pipelines export auth --output /tmp/auth.tar.gz
  tar -xzOf auth.tar.gz auth/MANIFEST.json`
}

// Run implements [cli.Verb].
func (v *Export) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		s, err := e.Status(v.Session)
		if err != nil {
			return err
		}
		m := bundle.Manifest{Session: s.Session, RunID: s.RunID, Status: string(s.Status), Running: s.Locked, ExportedAt: time.Now().UTC(), Version: cli.CurrentBuild().Version}
		file, size, err := v.write(s.Dir, &m)
		if err != nil {
			return err
		}
		return a.Print(document.Export{Output: file, Bytes: size, Manifest: m}, func(to io.Writer) { v.writeSummary(to, file, size, &m) })
	})
}

// writeSummary writes a summary of an archive.
func (v *Export) writeSummary(to io.Writer, file string, size int64, m *bundle.Manifest) {
	redacted, binary := 0, 0
	for _, f := range m.Files {
		if f.Redacted {
			redacted++
		}
		if f.Binary {
			binary++
		}
	}
	fmt.Fprintf(to, "Wrote session '%s', %s in %d bytes, to %s\n", v.Session, screen.Plural(len(m.Files), "file"), size, file)
	if redacted > 0 {
		fmt.Fprintf(to, "  Secrets were taken out of %s; MANIFEST.json names them.\n", screen.Plural(redacted, "file"))
	}
	if binary > 0 {
		fmt.Fprintf(to, "  Binary, and not searched for secrets: %s.\n", screen.Plural(binary, "file"))
	}
	for _, l := range m.LeftOut {
		fmt.Fprintf(to, "  Left out: %s, %s\n", l.Path, l.Reason)
	}
	if m.Running {
		fmt.Fprintln(to, "  The session is running: its files may be from different moments.")
	}
}

// write writes the archive to a file that must not exist yet. On an error it removes the file.
func (v *Export) write(dir string, m *bundle.Manifest) (file string, size int64, err error) {
	name := cmp.Or(v.Output, v.Session+".tar.gz")
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", 0, err
	}
	defer root.Close()
	spool, err := os.CreateTemp("", "agent-pipelines-export-*")
	if err != nil {
		return "", 0, fmt.Errorf("create a temporary file for the archive: %w", err)
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", 0, cli.UsageError(name+" is there already", "remove it, or name another file with --output")
	}
	if err != nil {
		return "", 0, fmt.Errorf("write the archive: %w", err)
	}
	err = bundle.Write(out, root.FS(), m, redact.New(os.Environ()), spool)
	info, statErr := out.Stat()
	if err = errors.Join(err, statErr, out.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(name))
	}
	file, err = filepath.Abs(name)
	return file, info.Size(), err
}
