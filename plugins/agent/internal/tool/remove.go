package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type deleteArgs struct {
	Path   string
	Paths  []string
	Reason string
}

type deleteResult struct {
	Deleted []string `json:"deleted"`
	Missing []string `json:"missing,omitempty"`
}

func prepareDelete(s *Set, p *Prepared, args json.RawMessage) error {
	var a deleteArgs
	if err := read(args, &a); err != nil {
		return err
	}
	if (a.Path == "") == (len(a.Paths) == 0) {
		return invalid(errors.New("/: exactly one of path and paths is wanted"))
	}
	if a.Path != "" {
		a.Paths = []string{a.Path}
	}
	p.Effect, p.Category, p.Reason = sdk.EffectIdempotent, sdk.CategoryFileDelete, a.Reason
	var files []place
	var preview strings.Builder
	for _, given := range a.Paths {
		file, err := s.locateAs(given, true)
		if err != nil {
			return err
		}
		if err := file.writable(); err != nil {
			return err
		}
		size, err := file.deletable(p.again)
		if err != nil {
			return err
		}
		fmt.Fprintf(&preview, "delete %s, %d bytes\n", file.rel, size)
		files, p.Paths = append(files, file), append(p.Paths, file.rel)
	}
	p.Preview = preview.String()
	p.run = func(context.Context) (outcome, error) { return deleteFiles(files, p.again) }
	return nil
}

// deletable is the size of what would be deleted: a file or a link.
func (p place) deletable(again bool) (int64, error) {
	info, err := p.stat()
	switch {
	case again && errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, missing(p.rel, err)
	case info.IsDir():
		return 0, failed("%s is a directory; only files are deleted", p.rel)
	}
	return info.Size(), nil
}

func deleteFiles(files []place, again bool) (outcome, error) {
	result := deleteResult{Deleted: []string{}}
	done := outcome{}
	for _, file := range files {
		err := file.remove()
		switch {
		case again && errors.Is(err, fs.ErrNotExist):
			result.Missing = append(result.Missing, file.rel)
			continue
		case err != nil && len(result.Deleted) > 0:
			return done, fmt.Errorf("deleted %s, and then: %w", strings.Join(result.Deleted, ", "), missing(file.rel, err))
		case err != nil:
			return done, missing(file.rel, err)
		}
		result.Deleted, done.changed = append(result.Deleted, file.rel), append(done.changed, file.rel)
	}
	done.data = result
	return done, nil
}

func (p place) remove() error {
	root, name, done, err := p.open()
	if err != nil {
		return err
	}
	defer done()
	switch info, err := root.Lstat(name); {
	case err != nil:
		return err
	case info.IsDir(): // an empty one would go
		return failed("%s is a directory; only files are deleted", p.rel)
	}
	return root.Remove(name)
}
