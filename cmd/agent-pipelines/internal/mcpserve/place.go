package mcpserve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// The longest name, and the longest text that a run is given, in bytes.
const (
	maxName  = 256
	maxGiven = 64 << 10
	maxMany  = 64 // of anything of which there may be several
)

// within refuses a path that is none of the project, or leads out of it.
func (s *server) within(what, path string) error {
	hint := "name a file or directory of the project, relative to " + s.Root
	if err := word(what, path); err != nil {
		return err
	}
	if !filepath.IsLocal(path) {
		return wrong(fmt.Sprintf("%s '%s' is outside of the project", what, path), hint)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(filepath.Clean(path)); err != nil { // which follows no link out of the project
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return wrong(fmt.Sprintf("%s '%s' cannot be used: %v", what, path, err), hint)
	}
	return nil
}

// namesOrPaths refuses what is neither a name nor a path in the project.
func (s *server) namesOrPaths(all ...string) error {
	if len(all) > maxMany {
		return wrong(fmt.Sprintf("there are %d names", len(all)), fmt.Sprintf("give %d at most", maxMany))
	}
	for _, said := range all {
		if err := word("name", said); err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(s.Root, said)); err != nil && !strings.ContainsRune(said, filepath.Separator) && said != ".." {
			continue // a name, and nothing in the project's root is called so
		}
		if err := s.within("file", said); err != nil {
			return err
		}
	}
	return nil
}

// word refuses what can be no name.
func word(what, said string) error {
	switch {
	case said == "":
		return wrong(what+" is empty", "give it a value, or leave it out")
	case len(said) > maxName:
		return wrong(fmt.Sprintf("%s has %d bytes", what, len(said)), fmt.Sprintf("at most %d are taken", maxName))
	case !utf8.ValidString(said) || strings.ContainsRune(said, 0):
		return wrong(what+" is no text", "write it in UTF-8, without zero bytes")
	default:
		return nil
	}
}

// key is word for what stands before a =, in a flag that takes NAME=VALUE.
func key(what, said string) error {
	if strings.Contains(said, "=") {
		return wrong(what+" has a =", "names have none")
	}
	return word(what, said)
}

// text refuses what is too long, or no text.
func text(what, said string) error {
	switch {
	case len(said) > maxGiven:
		return wrong(fmt.Sprintf("%s has %d bytes, at most %d are taken", what, len(said), maxGiven), "put what is long into a file of the project, and name it in inputs")
	case !utf8.ValidString(said) || strings.ContainsRune(said, 0):
		return wrong(what+" is no text", "write it in UTF-8, without zero bytes")
	default:
		return nil
	}
}
