package tool

import (
	"context"
	"io/fs"
	"path"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// defaultEntries is the default limit of entries or matches of a call (REQUIREMENTS C6).
const defaultEntries = 100

// mostCounted limits the entries or matches that are counted, whether shown or omitted.
const mostCounted = 100_000

type listArgs struct {
	Path      string
	Recursive bool
	Limit     int
}

type listResult struct {
	Path      string      `json:"path"`
	Entries   []entry     `json:"entries"`
	Truncated *truncation `json:"truncated,omitempty"`
}

type entry struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	Bytes *int64 `json:"bytes,omitempty"`
}

func (a listArgs) prepare(s *Set, p *PreparedCall) error {
	dir, err := s.locate(a.Path, false)
	if err != nil {
		return err
	}
	p.Effect, p.Category, p.Paths = sdk.EffectNone, sdk.CategoryFileRead, []string{dir.rel}
	p.run = func(ctx context.Context) (outcome, error) { return s.listDirectory(ctx, dir, a) }
	return nil
}

func (s *Set) listDirectory(ctx context.Context, dir fileRef, a listArgs) (outcome, error) {
	root, name, done, err := dir.open()
	if err != nil {
		return outcome{}, err
	}
	defer done()
	switch info, err := root.Stat(name); {
	case err != nil:
		return outcome{}, fileError(dir.rel, err)
	case !info.IsDir():
		return outcome{}, newFailure("%s is not a directory", dir.rel)
	}
	result := listResult{Path: dir.rel, Entries: []entry{}}
	total := 0
	err = fs.WalkDir(root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p == name:
			return err
		case err != nil:
			return nil //nolint:nilerr // an unreadable directory is still listed
		}
		if total++; len(result.Entries) < a.Limit {
			result.Entries = append(result.Entries, newEntry(path.Join(dir.rel, pathBelow(name, p)), d))
		}
		switch {
		case total >= mostCounted:
			return fs.SkipAll
		case d.IsDir() && (!a.Recursive || d.Name() == ".git"):
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return outcome{}, fileError(dir.rel, err)
	}
	result.Entries, _ = fitEntries(result.Entries, s.maxBytes(), func(e entry) int { return len(e.Path) + len(`{"path":"","type":"directory","bytes":1234},`) })
	if left := total - len(result.Entries); left > 0 {
		result.Truncated = &truncation{Entries: left}
	}
	return outcome{data: result}, nil
}

// pathBelow returns the part of a path below a directory.
func pathBelow(dir, p string) string {
	if dir == "." {
		return p
	}
	return p[len(dir)+1:]
}

func newEntry(p string, d fs.DirEntry) entry {
	e := entry{Path: p, Type: "other"}
	switch {
	case d.IsDir():
		e.Type = "directory"
	case d.Type()&fs.ModeSymlink != 0:
		e.Type = "link"
	case d.Type().IsRegular():
		e.Type = "file"
		if info, err := d.Info(); err == nil {
			size := info.Size()
			e.Bytes = &size
		}
	}
	return e
}
