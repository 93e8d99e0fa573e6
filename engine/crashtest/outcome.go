package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Outcome is what a session came to. It is not changed after [Read] and may be used from several goroutines.
type Outcome struct {
	// files by their names in the session's directory, with slashes: JSON values, or texts.
	files map[string]any
	// lanes are the events that are compared, by the branch or step that they are of; "" for all others.
	lanes map[string][]entry
}

// Read takes down what lies in a session's directory. root, an absolute path, is the directory that the session belongs
// to: where a text names it, that is no difference to a session of another directory; "" names none. Nor is the session's
// name one, where its own directory is named by it. The session must not be running. An error means that a file cannot be read, or that there is no journal.
func Read(dir, root string) (Outcome, error) {
	o, _, err := read(dir, root)
	return o, err
}

// read is [Read], and also returns what has read it.
func read(dir, root string) (Outcome, reader, error) {
	journal, err := readJournal(filepath.Join(dir, journalFile))
	if err != nil {
		return Outcome{}, reader{}, err
	}
	n, err := namesOf(dir, root, journal)
	if err != nil {
		return Outcome{}, reader{}, err
	}
	r := reader{dir: dir, names: n}
	files, err := r.files(os.DirFS(dir))
	if err != nil {
		return Outcome{}, reader{}, err
	}
	return Outcome{files: files, lanes: r.lanes(journal)}, r, nil
}

// reader takes down one session.
type reader struct {
	dir string
	names
}

// files are those that are compared.
func (r reader) files(in fs.FS) (map[string]any, error) {
	files := map[string]any{}
	err := fs.WalkDir(in, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rule := ruleOf(name, d.IsDir())
		switch {
		case d.IsDir() && rule.form == leftOut:
			return fs.SkipDir
		case d.IsDir() || rule.form == leftOut || r.ofRecovery(name):
			return nil
		}
		b, err := fs.ReadFile(in, name)
		if err != nil {
			return err
		}
		files[r.plain(name)] = r.value(rule, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", r.dir, err)
	}
	return files, nil
}

// whether a file is there as something says that names it.
const (
	asNamed      = "as named"
	changedSince = "changed since"
	gone         = "gone"
)

// standing says how a file stands to the digest that something names it by, "" for none.
func (r reader) standing(name, digest string) string {
	at := name
	if !path.IsAbs(name) {
		at = filepath.Join(r.dir, filepath.FromSlash(name))
	}
	b, err := os.ReadFile(at)
	switch {
	case err != nil: // or a directory stands there, or nobody may read it: no file, in any case
		return gone
	case digest != "" && digest != digestOf(b):
		return changedSince
	}
	return asNamed
}
