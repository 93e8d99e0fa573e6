package attempt

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// scanForSecrets reports secrets in files that the agent wrote.
func (a *attempt) scanForSecrets(ctx context.Context, files []string) {
	found, more := a.runner.secrets.ScanFiles(a.Project, a.Redactor, files)
	for _, d := range found {
		a.RecordInfo(ctx, a.Event(event.SecretFound, d))
	}
	if more {
		a.Log.Warn("too many secrets found in the agent's files; the rest is not reported", "limit", len(found))
	}
}

// writtenFiles returns the files that the agent may have written, relative to the project, without duplicates: its
// result files, those written by tools, and those it names.
func (a *attempt) writtenFiles() []string {
	names := []string{a.declaredPath()}
	for _, file := range append(a.files.Names(), a.progress) {
		names = append(names, a.Dir.Abs(file))
	}
	if a.exchange != nil {
		names = append(names, a.exchange.WrittenPaths()...)
	}
	names = append(names, a.touchedFiles()...)
	var all []string
	for _, name := range names {
		if name = a.projectPath(name); name != "" && !slices.Contains(all, name) && len(all) < maxScanned {
			all = append(all, name)
		}
	}
	return all
}

// projectPath returns a path relative to the project, "" for a path outside the project.
func (a *attempt) projectPath(name string) string {
	if name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.Project.Path(), name)
	}
	rel, err := filepath.Rel(a.Project.Path(), name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// touchedFiles returns the files that the agent names in its result, else in its status.
func (a *attempt) touchedFiles() []string {
	for _, name := range []string{a.files.Reports.Result(), a.files.Reports.Status()} {
		text, _ := a.files.Report(name) // an unreadable file names no files
		if files := result.FilesTouched(text); files != nil {
			return files
		}
	}
	return nil
}
