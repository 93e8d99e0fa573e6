package question

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
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

// Refused returns why a resolution file does not answer a question of a session with a sandbox, and the command that
// answers it. name is the path of the file.
func Refused(session, id, name string) *failure.Error {
	return failure.New(failure.ApprovalRequired, "a resolution file does not answer a session with a sandbox, because an agent can write it").
		WithHint("read it, and if it is yours: `%s`", failure.Next("answer", session, id, "--from-file", name))
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
