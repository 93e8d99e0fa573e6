package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Outcome is the comparable result of a session. It is immutable and safe for concurrent use.
type Outcome struct {
	// files maps slash-separated names in the session's directory to JSON values or texts.
	files map[string]any
	// sequences holds the events to compare by branch and step, and tool calls also by attempt; see sequenceName.
	sequences map[string][]entry
}

// Read reads the outcome of a session's directory. The session must not be running. root is the absolute path
// of the session's project, "" for none: it is replaced in texts, as is the session's name in its own paths.
// An error means that a file cannot be read, or that there is no journal.
func Read(dir, root string) (Outcome, error) {
	o, _, err := read(dir, root)
	return o, err
}

// read is [Read] and also returns the reader.
func read(dir, root string) (Outcome, reader, error) {
	journal, err := readJournal(filepath.Join(dir, journalFile))
	if err != nil {
		return Outcome{}, reader{}, err
	}
	n, err := newNames(dir, root, journal)
	if err != nil {
		return Outcome{}, reader{}, err
	}
	r := reader{dir: dir, names: n}
	files, err := r.files(os.DirFS(dir))
	if err != nil {
		return Outcome{}, reader{}, err
	}
	return Outcome{files: files, sequences: r.sequences(lastRun(journal))}, r, nil
}

// files returns the files to compare.
func (r reader) files(in fs.FS) (map[string]any, error) {
	files := map[string]any{}
	err := fs.WalkDir(in, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rule := findRule(name, d.IsDir())
		switch {
		case d.IsDir() && rule.form == ignored:
			return fs.SkipDir
		case d.IsDir() || rule.form == ignored || r.isRecoveryFile(name):
			return nil
		}
		b, err := fs.ReadFile(in, name)
		if err != nil {
			return err
		}
		files[r.replace(name)] = r.value(rule, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", r.dir, err)
	}
	return files, nil
}
