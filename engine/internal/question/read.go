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
	// Name is the path of the file, relative to the project.
	Name string
	// Faults are the reasons why the file is not an answer; empty for an answer.
	Faults yamldoc.Diagnostics
	// Digest identifies the content: its SHA-256 in hex, or the error of an unreadable file. All files that are too
	// large have the same digest.
	Digest string
}

// Read reads the escalation's resolution file, and returns false if there is none. An unreadable file has faults.
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
		data = make([]byte, MaxResolution+1) // so that Parse reports the size
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
