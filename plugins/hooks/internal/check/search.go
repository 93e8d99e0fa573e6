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

// maxFileSize is the largest file that is searched, in bytes.
const maxFileSize = 16 << 20

// measureFiles measures files of the project. It follows no link out of the project.
func measureFiles(c Config, root *os.Root) (Facts, error) {
	names, err := findFiles(root, c.Path)
	if err != nil {
		return Facts{}, measureError("find %s: %w", c.Path, err).WithHint("name files of the project only")
	}
	if c.Type == typeFile {
		return Facts{Reason: c.existenceReason(len(names)), Counts: map[string]int{"files": len(names)}}, nil
	}
	hits := 0
	for _, name := range names {
		hit, err := c.fileMatches(root, name)
		if err != nil {
			return Facts{}, measureError("read %s: %w", name, err).WithHint("change path to match only regular files of the project")
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

// existenceReason returns the reason if the number of files is unexpected, else "".
func (c Config) existenceReason(count int) string {
	expected := c.Exists == nil || *c.Exists
	switch {
	case expected && count == 0:
		return "there is no file " + c.Path
	case !expected && count > 0:
		return fmt.Sprintf("there is a file %s", c.Path)
	default:
		return ""
	}
}

// findFiles returns the matching files and directories. A link that leads out of the project is an error, not a
// missing file.
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

// literalPrefix returns the path elements of a pattern before the first wildcard.
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

// fileMatches reports whether a file has the content. A directory has none.
func (c Config) fileMatches(root *os.Root, name string) (bool, error) {
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return false, nil
	}
	content, err := readRegular(root, name, maxFileSize)
	if err != nil {
		return false, err
	}
	if c.pattern != nil {
		return c.pattern.Match(content), nil
	}
	return bytes.Contains(content, []byte(c.Contains)), nil
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), limit)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
