package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/graph"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/report"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Report is the verb `report <session>`.
type Report struct {
	Session string `arg:"" help:"The session: running, paused or ended."`
	Output  string `short:"o" placeholder:"FILE" help:"Write the page to this file; - is standard output (default <session>-report.html in the current directory)."`
}

// Help returns the text below the usage.
func (*Report) Help() string {
	return `The page is one HTML file without scripts. It needs no network and no other file. Secrets are redacted.
The page names the parts that were too long and are left out.`
}

// Run implements [cli.Verb].
func (v *Report) Run(ctx context.Context, a *cli.App) error {
	if v.Output == "-" && a.JSON {
		return cli.UsageError("--json and --output - both write to standard output", "name a file, or leave --json out")
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		text, err := sessionReport(e, v.Session)
		if err != nil {
			return err
		}
		if v.Output == "-" {
			_, err := a.Stdout.Write(text)
			return err
		}
		file, err := v.write(text)
		if err != nil {
			return err
		}
		return a.Print(document.Report{Session: v.Session, Output: file, Bytes: len(text)}, func(to io.Writer) {
			fmt.Fprintf(to, "Wrote the report of session '%s', %d bytes, to %s\n", v.Session, len(text), file)
		})
	})
}

// reportMark identifies a page that the verb may overwrite.
const reportMark = `<meta name="generator" content="agent-pipelines report">`

// write writes the page to the file of --output or to the default file. It overwrites the default file only if that is an
// older page.
func (v *Report) write(text []byte) (file string, err error) {
	name := v.Output
	if name == "" {
		name = v.Session + "-report.html"
		if old, err := os.Open(name); err == nil {
			head, err := io.ReadAll(io.LimitReader(old, 4<<10))
			if err = errors.Join(err, old.Close()); err != nil {
				return "", err
			}
			if !bytes.Contains(head, []byte(reportMark)) {
				return "", cli.UsageError(fmt.Sprintf("%s exists and is not a report", name), "name another file with --output")
			}
		}
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return filepath.Abs(name)
}

// sessionReport returns the page of a session. It reads the journal once.
func sessionReport(e *engine.Engine, session string) ([]byte, error) {
	secrets := redact.New(os.Environ())
	var chain *why.Causes
	var collector *report.Collector
	s, err := e.Inspect(session, func(t *timeline.Timeline) func(timeline.Entry) {
		chain, collector = why.NewCauses(t), report.NewCollector(t, secrets.Text)
		return func(e timeline.Entry) {
			chain.Observe(e)
			collector.Observe(e)
		}
	})
	if err != nil {
		return nil, err
	}
	facts := report.Facts{
		Status: s.Status, Why: why.Explain(s.Status, chain), Metrics: s.Metrics, Graph: pipelineSVG(s.Plan), Agent: secrets.ForAgent().Text, Now: time.Now(), Version: cli.CurrentBuild().Version,
	}
	facts.Artifacts, facts.ArtifactsLeft = reportArtifacts(e, s, secrets.ForAgent().Text)
	facts.Read = func(path string, most int64) (string, bool, error) { return readWithin(s.Status.Dir, path, most) }
	var text bytes.Buffer
	if err := collector.Write(&text, facts); err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return text.Bytes(), nil
}

// pipelineSVG returns the drawing of a pipeline as SVG, "" if its plan could not be read.
func pipelineSVG(p *plan.Plan) template.HTML {
	if len(p.Nodes) == 0 {
		return ""
	}
	var text strings.Builder
	graph.FromPlan(p).SVG(&text)
	return template.HTML(text.String()) //nolint:gosec // package graph escapes all texts that are not its own
}

// readWithin reads up to most bytes of a regular file in a directory; whole reports that the file is not longer.
// Opening does not block, because a named pipe would wait for a writer.
func readWithin(dir, path string, most int64) (text string, whole bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false, errors.Join(err, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid})
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", false, err
	}
	if int64(len(b)) > most {
		return strings.ToValidUTF8(string(b[:most]), ""), false, nil
	}
	return string(b), true, nil
}

// These are the limits for artifacts in a page.
const (
	maxArtifact  = 32 << 10 // bytes of one artifact
	maxArtifacts = 100      // number of artifacts
)

// reportArtifacts returns a session's newest artifacts with their texts, and the number of omitted artifacts.
func reportArtifacts(e *engine.Engine, s *engine.Inspection, clean func(string) string) (all []report.Artifact, left int) {
	for _, i := range s.Artifacts {
		switch {
		case !i.Latest:
			continue
		case len(all) == maxArtifacts:
			left++
			continue
		}
		shown := report.Artifact{Node: artifactName(i), Type: i.Type, Visit: i.Visit, Size: i.Size, File: cli.RelativePath(e.WorkDir(), i.File), Problem: i.Problem}
		if i.Problem == "" && i.Size <= 1<<20 {
			content, err := e.ReadArtifact(s.Status.Session, i)
			if err != nil {
				shown.Problem = err.Error()
			} else {
				shown.Text = clean(string(content.Text)) // before the cut, because redaction does not match half a secret
				if shown.Cut = len(shown.Text) > maxArtifact; shown.Cut {
					shown.Text = strings.ToValidUTF8(shown.Text[:maxArtifact], "")
				}
			}
		}
		all = append(all, shown)
	}
	return all, left
}
