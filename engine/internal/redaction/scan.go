package redaction

import (
	"io"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// These constants bound a scan for secrets.
const (
	maxScannedSize = 1 << 20 // bytes of one file, from its beginning
	maxFinds       = 100     // secrets in all files
)

// SecretDedup holds the secrets reported in a run, so that a file that several iterations touch is reported once. The
// zero value is ready. It is safe for concurrent use.
type SecretDedup struct {
	mu   sync.Mutex // guards:
	seen map[event.SecretFoundData]bool
}

// isNew reports whether the secret was not reported before. With remember it counts as reported from now on.
func (f *SecretDedup) isNew(d event.SecretFoundData, remember bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	d.Line = 0 // lines move when the file changes
	if f.seen == nil {
		f.seen = map[event.SecretFoundData]bool{}
	}
	known := f.seen[d]
	f.seen[d] = known || remember
	return !known
}

// ScanFiles returns the new secrets in files of the project. It changes no file. more reports whether there are
// further new secrets, which are not returned.
func (f *SecretDedup) ScanFiles(p *store.Project, r *redact.Redactor, names []string) (found []event.SecretFoundData, more bool) {
	agent := r.ForAgent()
	for _, name := range names {
		for _, d := range findSecrets(agent, name, readHead(p, name)) {
			d.Path = agent.Text(d.Path)
			full := len(found) == maxFinds
			switch isNew := f.isNew(d, !full); {
			case isNew && full:
				return found, true
			case isNew:
				found = append(found, d)
			}
		}
	}
	return found, false
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

// readHead returns the beginning of a project file, "" if it is not a regular file in the project.
func readHead(p *store.Project, name string) string {
	f, err := p.OpenRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxScannedSize)) // as far as it is readable
	return string(text)
}
