package question

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// ResolutionFile is a resolution file in a session's directory.
type ResolutionFile struct {
	Resolution
	// Name is the file's, relative to the project.
	Name string
	// Faults keep it from being an answer.
	Faults yamldoc.Diagnostics
	// Digest distinguishes contents.
	Digest string
}

// Read reads the escalation's resolution file; false if there is none. A file that cannot be read has faults.
func Read(d *store.Dir, id string) (ResolutionFile, bool) {
	name := store.ResolutionFile(id)
	f := ResolutionFile{Name: name}
	if rel, err := filepath.Rel(d.Project(), d.Abs(name)); err == nil {
		f.Name = rel
	}
	data, err := d.Read(name, MaxResolution)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, false
	case errors.Is(err, store.ErrTooLarge):
		data = make([]byte, MaxResolution+1) // as Parse says it
	case err != nil:
		f.Digest = err.Error()
		yamldoc.Document{File: f.Name, Diagnostics: &f.Faults}.Errorf(yamldoc.Pos{}, yamldoc.CodeRead, "", "%s", yamldoc.ReadProblem(err))
		return f, true
	}
	sum := sha256.Sum256(data)
	f.Digest = hex.EncodeToString(sum[:])
	f.Resolution, f.Faults = Parse(f.Name, data)
	return f, true
}
