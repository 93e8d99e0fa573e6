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

// Bounds of the look at what an agent wrote, for an attempt.
const (
	maxScanned     = 200     // files
	maxScannedSize = 1 << 20 // bytes of one file, from its beginning
	maxFinds       = 100     // events
)

// Finds are the secrets that were told of in a run, so that a file that one iteration after the other touches is told
// of once. The zero value is ready. It is safe for concurrent use.
type SecretDedup struct {
	mu   sync.Mutex // guards:
	told map[event.SecretFoundData]bool
}

// first reports whether the find is told of for the first time.
func (f *SecretDedup) first(d event.SecretFoundData) bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.Line = 0 // it moves, as the file does
	if f.told == nil {
		f.told = map[event.SecretFoundData]bool{}
	}
	known := f.told[d]
	f.told[d] = true
	return !known
}

// scan tells of the secrets in files that the agent wrote, and changes nothing.
func (a *attempt) scan(ctx context.Context, files []string) {
	agent, left := a.Redactor.Agent(), maxFinds
	for _, name := range files {
		for _, d := range found(agent, name, a.head(name)) {
			if left == 0 {
				a.log.Warn("more secrets were found in what the agent wrote than are told of", "limit", maxFinds)
				return
			}
			if d.Path = agent.Text(d.Path); a.Finds.first(d) {
				a.inform(ctx, event.SecretFound, d)
				left--
			}
		}
	}
}

// found are the secrets of a file, by rule in the order in which they first stand there.
func found(r *redact.Redactor, name, text string) []event.SecretFoundData {
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

// head is the beginning of a file of the project, "" for what is none: a link that leads out of it, a pipe.
func (a *attempt) head(name string) string {
	f, err := a.Project.OpenRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxScannedSize)) // what can be read of it
	return string(text)
}

// written are the files that the agent may have written, relative to the project: those in which it leaves what it came
// to, those that its tools wrote, and those that it names itself. No name is there twice.
func (a *attempt) written() []string {
	names := []string{a.outputName()}
	for _, file := range append(reportsIn(a.reports), a.progress) {
		names = append(names, a.Dir.Abs(file))
	}
	names = append(names, a.exchange.wrote()...)
	names = append(names, a.touched()...)
	var all []string
	for _, name := range names {
		if name = a.local(name); name != "" && !slices.Contains(all, name) && len(all) < maxScanned {
			all = append(all, name)
		}
	}
	return all
}

// local is a path relative to the project, "" for one outside of it.
func (a *attempt) local(name string) string {
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

// touched are the files that the agent names in what it wrote as its result, or as its status.
func (a *attempt) touched() []string {
	for _, name := range []string{a.reports.Result(), a.reports.Status()} {
		text, err := a.said(name)
		if err != nil || text == nil {
			continue
		}
		var said struct {
			Work struct {
				FilesTouched []any `json:"files_touched"`
			} `json:"work"`
		}
		if json.Unmarshal(text, &said) != nil {
			continue
		}
		var names []string
		for _, v := range said.Work.FilesTouched {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// note takes up what a tool call writes.
func (x *exchange) note(c sdk.ToolCall) {
	if c.Category != sdk.CategoryFileWrite {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range c.Paths {
		if len(x.paths) < maxScanned && !slices.Contains(x.paths, name) {
			x.paths = append(x.paths, name)
		}
	}
}

// wrote are the paths that tool calls wrote.
func (x *exchange) wrote() []string {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.paths)
}
