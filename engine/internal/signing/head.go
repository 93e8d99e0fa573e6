package signing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/journal"
)

// HeadFile is the file, outside of the project, with the signed head of a session's journal. One process at a time
// writes it.
type HeadFile struct {
	keys    Keys
	folder  folder
	project string
	session string
}

// NewHeadFile returns the head file of a session. The name of the project is unique for the user. It reads and writes
// nothing.
func NewHeadFile(stateDir, project, session string) HeadFile {
	return HeadFile{UserKeys(), folder{dir: filepath.Join(stateDir, "heads", project), holds: "the heads of journals"}, project, session}
}

// signedHead is the content of a head file.
type signedHead struct {
	Project string       `json:"project"`
	Session string       `json:"session"`
	Head    journal.Head `json:"head"`
	// Key is the public key of the user. Signature covers all other members.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// signed returns the text that the signature covers: the purpose, and the head without key and signature as JSON.
func (h signedHead) signed() ([]byte, error) {
	h.Key, h.Signature = "", ""
	text, err := json.Marshal(h)
	return append([]byte("journal head 1\n"), text...), err
}

// Load returns the head, nil if there is none. The error wraps [ErrInvalid] if the user, or the owner of a key that the
// user trusts, did not sign this head for this session. Any other error means that the user's files cannot be read.
func (f HeadFile) Load() (*journal.Head, error) {
	text, err := f.folder.read(f.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no head was kept
	}
	if err != nil {
		return nil, err
	}
	var h signedHead
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if h.Project != f.project || h.Session != f.session {
		return nil, fmt.Errorf("%w: it is the head of session %q in %s", ErrInvalid, h.Session, h.Project)
	}
	if text, err = h.signed(); err != nil {
		return nil, err
	}
	if _, err := f.keys.Verify(text, h.Key, h.Signature); err != nil {
		return nil, err
	}
	return &h.Head, nil
}

// LoadValid is [HeadFile.Load] for a head that must count: invalid says why the head that is kept does not, and head is
// nil. err means that it cannot be read.
func (f HeadFile) LoadValid() (head *journal.Head, invalid, err error) {
	head, err = f.Load()
	if errors.Is(err, ErrInvalid) {
		return nil, err, nil
	}
	return head, nil, err
}

// Keep signs a head and replaces the one kept before. It is on the disk when Keep returns.
func (f HeadFile) Keep(head journal.Head) error {
	h := signedHead{Project: f.project, Session: f.session, Head: head}
	text, err := h.signed()
	if err != nil {
		return err
	}
	if h.Key, h.Signature, err = f.keys.Sign(text); err != nil {
		return err
	}
	if text, err = json.Marshal(h); err != nil {
		return err
	}
	return f.folder.write(f.name(), append(text, '\n'), os.Rename)
}

// Remove removes the head. It is no error if there is none.
func (f HeadFile) Remove() error {
	if err := os.Remove(filepath.Join(f.folder.dir, f.name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.folder.accessError("remove", err)
	}
	return nil
}

func (f HeadFile) name() string { return f.session + ".json" }
