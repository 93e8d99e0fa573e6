package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxStageFile is the maximum size of a file of a shipped stage, in bytes.
const maxStageFile = 1 << 20

// changedSuffix is appended to the name of a changed file of a shipped stage when the original takes its place.
const changedSuffix = ".changed"

// StagesDir returns the directory, outside of all projects, with the files of shipped stages that runs use. It makes the
// directory if it does not exist.
func StagesDir() (string, error) {
	dir, err := catalog.CacheDir()
	if dir = filepath.Join(dir, "stages"); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", failure.New(failure.ConfigInvalid, "no directory for the files of shipped stages: %w", err).WithHint("set XDG_CACHE_HOME to a directory that you may write")
	}
	return dir, nil
}

// KeepStage copies a shipped stage of a new session to [StagesDir]. The folder is that in the session's copy of the library.
func KeepStage(session *store.Dir, library map[string]string, folder string) error {
	s, err := newShippedStage(session, library, folder)
	if err != nil {
		return err
	}
	return s.verify()
}

// shippedStage is a shipped stage of a session with its two copies.
type shippedStage struct {
	session *store.Dir
	folder  string            // in the session's copy of the library, as "stages/deliver"
	digests map[string]string // SHA-256 of the stage's files, by their slash-separated path in the folder
	dir     string            // the copy that is used; its name is a digest over the digests
}

func newShippedStage(session *store.Dir, library map[string]string, folder string) (shippedStage, error) {
	s := shippedStage{session: session, folder: folder, digests: map[string]string{}}
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(library)) {
		if file, within := strings.CutPrefix(name, folder+"/"); within {
			s.digests[file] = library[name]
			fmt.Fprintf(all, "%s  %s\n", library[name], file)
		}
	}
	base, err := StagesDir()
	s.dir = filepath.Join(base, hex.EncodeToString(all.Sum(nil)))
	return s, err
}

// verify compares both copies with the digests, and makes the used copy if it is missing or differs.
func (s shippedStage) verify() error {
	originals, changed := map[string][]byte{}, []string{}
	for _, file := range slices.Sorted(maps.Keys(s.digests)) {
		data, err := s.session.Read(s.name(file), maxStageFile)
		if err != nil || event.Digest(string(data)) != s.digests[file] {
			changed = append(changed, file)
			continue
		}
		originals[file] = data
	}
	if used := s.used(); used != nil {
		return s.restore(changed, used)
	}
	if len(changed) > 0 {
		return s.tampered(changed[0]).WithHint("find out which program changed it; no copy of the original is left: start the session again with %s", failure.Option("force"))
	}
	if err := s.write(originals); err != nil {
		return fmt.Errorf("copy the shipped stage %s to %s: %w", path.Base(s.folder), s.dir, err)
	}
	return nil
}

// used returns the files of the used copy. It returns nil if the copy lacks a file of the stage or has another one.
func (s shippedStage) used() map[string][]byte {
	files := map[string][]byte{}
	err := filepath.WalkDir(s.dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, file)
		name := filepath.ToSlash(rel)
		if err != nil || !entry.Type().IsRegular() || event.Digest(string(data)) != s.digests[name] {
			return errors.New("another file")
		}
		files[name] = data
		return nil
	})
	if err != nil || len(files) != len(s.digests) {
		return nil
	}
	return files
}

// write makes the used copy. Two processes may do so at once; the copies are equal.
func (s shippedStage) write(files map[string][]byte) error {
	temp, err := os.MkdirTemp(filepath.Dir(s.dir), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	for name, data := range files {
		file := filepath.Join(temp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o400); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.Rename(temp, s.dir); err != nil && s.used() == nil {
		return err
	}
	return nil
}

// restore puts the originals of changed files back into the session and returns the failure that names the first one, nil
// for no changed files.
func (s shippedStage) restore(changed []string, originals map[string][]byte) error {
	for _, file := range changed {
		name := s.name(file)
		if err := s.session.Rename(name, name+changedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := s.session.Write(name, originals[file]); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.tampered(changed[0]).WithHint("the original is in place again, and the changed file is %s in the same directory: find out which program changed it, then resume",
		path.Base(changed[0])+changedSuffix)
}

func (s shippedStage) tampered(file string) *failure.Error {
	return failure.New(failure.Tampered, "%s, a file of a shipped stage, was changed after the session started", s.session.Abs(s.name(file)))
}

func (s shippedStage) name(file string) string {
	return path.Join(store.LibraryDir, s.folder, file)
}
