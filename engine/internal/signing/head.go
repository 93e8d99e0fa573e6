package signing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// HeadFile is the file, outside of the project, with the signed head of a session's journal. Its copy, [store.HeadFile], goes
// with the session and has the last head at rest. One process at a time writes them.
type HeadFile struct {
	keys    Keys
	folder  folder
	project string
	dir     *store.Dir
}

// NewHeadFile returns the head file of a session. The name of the project is unique for the user. It reads and writes
// nothing.
func NewHeadFile(stateDir, project string, dir *store.Dir) HeadFile {
	return HeadFile{UserKeys(), folder{dir: filepath.Join(stateDir, "heads", project), holds: "the heads of journals"}, project, dir}
}

// signedHead is the content of a head file.
type signedHead struct {
	Project string `json:"project"`
	// Path is the absolute path of the project, which says whether it still exists. It is "" in files of older versions.
	Path    string       `json:"path,omitempty"`
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

// read reads a signed head of the session. The signer is the zero key if there is an error.
func (f HeadFile) read(text []byte) (h signedHead, signer Key, err error) {
	if err := json.Unmarshal(text, &h); err != nil {
		return h, Key{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if h.Session != f.dir.Session() {
		return h, Key{}, fmt.Errorf("%w: it is the head of session %q in %s", ErrInvalid, h.Session, h.Project)
	}
	if text, err = h.signed(); err == nil {
		signer, err = f.keys.Verify(text, h.Key, h.Signature)
	}
	return h, signer, err
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
	h, _, err := f.read(text)
	if err == nil && h.Project != f.project {
		err = fmt.Errorf("%w: it is the head of session %q in %s", ErrInvalid, h.Session, h.Project)
	}
	if err != nil {
		return nil, err
	}
	return &h.Head, nil
}

// Copy is the copy of a head that came with the session. At is nil if there is none that counts.
type Copy struct {
	At     *journal.Head
	Signer Key
	// Trusted reports that the signer is the user, or that the user trusts the key.
	Trusted bool
}

// LoadCopy returns the copy of the head. A copy that is damaged, or of another session, counts as none.
func (f HeadFile) LoadCopy() Copy {
	text, err := f.dir.Read(store.HeadFile, maxFile)
	if err != nil {
		return Copy{}
	}
	h, signer, err := f.read(text)
	if untrusted, ok := errors.AsType[UntrustedError](err); ok {
		return Copy{At: &h.Head, Signer: Key{Public: untrusted.Public}}
	}
	if err != nil {
		return Copy{}
	}
	return Copy{&h.Head, signer, true}
}

// MayExist reports whether a head that cannot be read may exist: it does, or the user's state directory exists and cannot
// be searched.
func (f HeadFile) MayExist() bool {
	_, err := os.Lstat(filepath.Join(f.folder.dir, f.name()))
	if errors.Is(err, fs.ErrPermission) {
		_, err = os.Lstat(filepath.Dir(filepath.Dir(f.folder.dir)))
	}
	return err == nil
}

// Keep signs a head and replaces the one kept before, and its copy if it is at rest. The head is on the disk when Keep
// returns.
func (f HeadFile) Keep(head journal.Head) error {
	h := signedHead{Project: f.project, Session: f.dir.Session(), Head: head}
	if path := f.dir.Project(); utf8.ValidString(path) {
		h.Path = path
	}
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
	text = append(text, '\n')
	_, missing := os.Lstat(f.folder.dir)
	if err := f.folder.write(f.name(), text, os.Rename); err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) { // the number of projects grows
		sweepHeads(filepath.Dir(f.folder.dir))
	}
	if !head.Rest {
		return nil
	}
	return f.dir.Replace(store.HeadFile, text)
}

// Remove removes the head. It is no error if there is none.
func (f HeadFile) Remove() error {
	if err := os.Remove(filepath.Join(f.folder.dir, f.name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.folder.accessError("remove", err)
	}
	_ = os.Remove(f.folder.dir) // if it was the last one
	return nil
}

func (f HeadFile) name() string { return f.dir.Session() + ".json" }
