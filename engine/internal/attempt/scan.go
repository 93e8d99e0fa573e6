package attempt

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Bounds of the scan for secrets, for an attempt.
const (
	maxScanned     = 200     // files
	maxScannedSize = 1 << 20 // bytes of one file, from its beginning
	maxFinds       = 100     // events
)

// SecretDedup holds the secrets reported in a run, so that a file that several iterations touch is reported once. The
// zero value is ready. It is safe for concurrent use.
type SecretDedup struct {
	mu   sync.Mutex // guards:
	seen map[event.SecretFoundData]bool
}

// isNew reports whether the secret was not reported before, and remembers it.
func (f *SecretDedup) isNew(d event.SecretFoundData) bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.Line = 0 // lines move when the file changes
	if f.seen == nil {
		f.seen = map[event.SecretFoundData]bool{}
	}
	known := f.seen[d]
	f.seen[d] = true
	return !known
}

// scanForSecrets reports secrets in files that the agent wrote. It changes no file.
func (a *attempt) scanForSecrets(ctx context.Context, files []string) {
	agent, left := a.Redactor.ForAgent(), maxFinds
	for _, name := range files {
		for _, d := range findSecrets(agent, name, a.readHead(name)) {
			if left == 0 {
				a.log.Warn("too many secrets found in the agent's files; the rest is not reported", "limit", maxFinds)
				return
			}
			if d.Path = agent.Text(d.Path); a.Secrets.isNew(d) {
				a.recordInfo(ctx, event.SecretFound, d)
				left--
			}
		}
	}
}

// findSecrets returns the secrets of a file by rule, in the order of their first appearance.
func findSecrets(r *redact.Redactor, name, text string) []event.SecretFoundData {
	var all []event.SecretFoundData
	for _, f := range r.Find(text) {
		i := slices.IndexFunc(all, func(d event.SecretFoundData) bool { return d.Rule == f.Rule })
		if i < 0 {
			i = len(all)
			all = append(all, event.SecretFoundData{Path: name, Line: f.Line, Rule: f.Rule})
		}
		all[i].Count++
	}
	return all
}

// readHead returns the beginning of a project file, "" if it is no regular file in the project.
func (a *attempt) readHead(name string) string {
	f, err := a.Project.OpenRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxScannedSize)) // as far as it is readable
	return string(text)
}

// writtenFiles returns the files that the agent may have written, relative to the project, without duplicates: its
// result files, those written by tools, and those it names.
func (a *attempt) writtenFiles() []string {
	names := []string{a.declaredPath()}
	for _, file := range append(reportFiles(a.outputDir), a.progress) {
		names = append(names, a.Dir.Abs(file))
	}
	names = append(names, a.exchange.writtenPaths()...)
	names = append(names, a.touchedFiles()...)
	var all []string
	for _, name := range names {
		if name = a.projectPath(name); name != "" && !slices.Contains(all, name) && len(all) < maxScanned {
			all = append(all, name)
		}
	}
	return all
}

// projectPath returns a path relative to the project, "" for one outside of it.
func (a *attempt) projectPath(name string) string {
	if name == "" {
		return ""
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(a.Project.Path(), name)
		if err != nil {
			return ""
		}
		name = rel
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// touchedFiles returns the files that the agent names in its result, else in its status.
func (a *attempt) touchedFiles() []string {
	for _, name := range []string{a.outputDir.Result(), a.outputDir.Status()} {
		text, err := a.readAgentFile(name)
		if err != nil || text == nil {
			continue
		}
		var doc struct {
			Work struct {
				FilesTouched []any `json:"files_touched"`
			} `json:"work"`
		}
		if json.Unmarshal(text, &doc) != nil {
			continue
		}
		var names []string
		for _, v := range doc.Work.FilesTouched {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// noteWrites remembers the paths that a tool call writes.
func (x *exchange) noteWrites(c sdk.ToolCall) {
	if c.Category != sdk.CategoryFileWrite {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range c.Paths {
		if len(x.toolPaths) < maxScanned && !slices.Contains(x.toolPaths, name) {
			x.toolPaths = append(x.toolPaths, name)
		}
	}
}

// writtenPaths returns the paths that tool calls wrote.
func (x *exchange) writtenPaths() []string {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.toolPaths)
}
