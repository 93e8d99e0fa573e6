package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// maxFileSize is the largest file that is searched.
const maxFileSize = 16 << 20

// measureFiles measures files of the project. Nothing outside it is looked at, wherever links lead.
func measureFiles(c Config, workDir string) (Facts, error) {
	root, err := os.OpenRoot(workDir)
	if err != nil {
		return Facts{}, measureError("open the project: %w", err)
	}
	defer func() { _ = root.Close() }()
	names, err := findFiles(root, c.Path)
	if err != nil {
		return Facts{}, measureError("look for %s: %w", c.Path, err).WithHint("a check sees the files of the project only")
	}
	if c.Type == typeFile {
		return Facts{Reason: c.existenceReason(len(names)), Counts: map[string]int{"files": len(names)}}, nil
	}
	hits := 0
	for _, name := range names {
		hit, err := c.fileMatches(root, name)
		if err != nil {
			return Facts{}, measureError("read %s: %w", name, err).WithHint("let path match ordinary files of the project only")
		}
		if hit {
			hits++
		}
	}
	facts := Facts{Counts: map[string]int{"files": hits}}
	switch {
	case len(names) == 0:
		facts.Reason = "there is no file " + c.Path
	case hits == 0 && c.pattern != nil:
		facts.Reason = fmt.Sprintf("nothing in %s matches %.200s", c.Path, c.Matches)
	case hits == 0:
		facts.Reason = fmt.Sprintf("%s does not contain %.200q", c.Path, c.Contains)
	}
	return facts, nil
}

// existenceReason is why the number of files is not what was expected, or "".
func (c Config) existenceReason(found int) string {
	expected := c.Exists == nil || *c.Exists
	switch {
	case expected && found == 0:
		return "there is no file " + c.Path
	case !expected && found > 0:
		return fmt.Sprintf("there is a file %s", c.Path)
	default:
		return ""
	}
}

// findFiles are the files and directories that match. What cannot be looked at, as a link that leads out of
// the project, is an error and not a file that is missing.
func findFiles(root *os.Root, pattern string) ([]string, error) {
	if ok, err := exists(root, literalPrefix(pattern)); !ok {
		return nil, err
	}
	matches, err := fs.Glob(root.FS(), pattern)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range matches {
		ok, err := exists(root, name)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, name)
		}
	}
	return found, nil
}

// literalPrefix are the elements of a pattern before the first one with a wildcard.
func literalPrefix(pattern string) string {
	elements := strings.Split(pattern, "/")
	wild := slices.IndexFunc(elements, func(e string) bool { return strings.ContainsAny(e, `*?[\`) })
	if wild < 0 {
		return pattern
	}
	return path.Join(".", path.Join(elements[:wild]...))
}

func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// fileMatches says whether a file has the content. Directories have none.
func (c Config) fileMatches(root *os.Root, name string) (bool, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return false, err
	case info.IsDir():
		return false, nil
	case !info.Mode().IsRegular():
		return false, errors.New("not a regular file")
	case info.Size() > maxFileSize:
		return false, fmt.Errorf("it has %d bytes, at most %d are searched", info.Size(), maxFileSize)
	}
	f, err := root.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil {
		return false, err
	}
	if c.pattern != nil {
		return c.pattern.Match(content), nil
	}
	return bytes.Contains(content, []byte(c.Contains)), nil
}
