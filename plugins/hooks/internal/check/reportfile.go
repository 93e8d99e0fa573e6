package check

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// codeReport is the code of a report that the command did not write in the project.
const codeReport = "CHEAT-REPORT"

// timestampUnit is the coarsest unit of modification times, that of FAT.
const timestampUnit = 2 * time.Second

// reportFiles finds and reads the files into which a command writes its report. Use newReportFiles before the command runs.
type reportFiles struct {
	root    *os.Root // of the project
	pattern string
	start   time.Time              // of the command
	before  map[string]fs.FileInfo // the files that match before it
	err     error                  // of finding those
}

func newReportFiles(root *os.Root, pattern string) *reportFiles {
	f := &reportFiles{root: root, pattern: pattern, start: time.Now()}
	f.before, f.err = f.find()
	return f
}

// find returns the files that match, or an error if one leads out of the project. A wildcard matches no directory that
// belongs to git, to packages or to the sessions.
func (f *reportFiles) find() (map[string]fs.FileInfo, error) {
	found, first, elements := map[string]fs.FileInfo{}, literalPrefix(f.pattern), strings.Split(f.pattern, "/")
	return found, fs.WalkDir(f.root.FS(), first, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && name != first && slices.Contains([]string{".git", ".claude", "node_modules"}, d.Name()):
			return fs.SkipDir
		case err == nil && !d.IsDir() && matchElements(elements, strings.Split(name, "/")):
			var info fs.FileInfo
			if info, err = f.root.Stat(name); err == nil {
				found[name] = info
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	})
}

// matchElements reports whether a path matches a pattern; ** matches any number of directories.
func matchElements(pattern, elements []string) bool {
	switch {
	case len(pattern) == 0 || len(elements) == 0:
		return len(pattern) == len(elements)
	case pattern[0] == "**":
		return matchElements(pattern[1:], elements) || matchElements(pattern, elements[1:])
	}
	ok, _ := path.Match(pattern[0], elements[0])
	return ok && matchElements(pattern[1:], elements[1:])
}

// read passes the lines of the files to the report. cheat says why a file is refused, "" for none. A command that failed
// may leave the files of an earlier run, which do not count, or no file.
func (f *reportFiles) read(r report, end cliagent.End) (cheat string, err error) {
	found, outside := f.find()
	if outside = cmp.Or(f.err, outside); outside != nil {
		return "a report leads out of the project: " + outside.Error(), nil //nolint:nilerr // the text of the cheat has it
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if f.isStale(name, found[name]) {
			if end.Clean() {
				return name + " is stale: the command did not write it", nil
			}
			delete(found, name)
			continue
		}
		content, err := readRegular(f.root, name, maxJUnit)
		if err != nil {
			return "", measureError("read the report %s: %w", name, err).WithHint("change report to match only regular files of the project")
		}
		for line := range strings.Lines(string(content) + "\n") {
			r.readLine([]byte(line))
		}
	}
	if len(found) == 0 && end.Clean() {
		return "", measureError("the command wrote no file %s", f.pattern).WithHint("set report to the path of the file that the command writes, below the project; a project without a test needs a first one")
	}
	return "", nil
}

// isStale reports whether a file is unchanged since before the command, or older. Its time can be one of the future.
func (f *reportFiles) isStale(name string, info fs.FileInfo) bool {
	was := f.before[name]
	unchanged := was != nil && os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) && was.Size() == info.Size()
	return unchanged || info.ModTime().Before(f.start.Add(-timestampUnit))
}
