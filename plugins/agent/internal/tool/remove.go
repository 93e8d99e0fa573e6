package tool

import (
	"context"
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

func (a deleteArgs) prepare(s *Set, p *PreparedCall) error {
	if (a.Path == "") == (len(a.Paths) == 0) {
		return InvalidArgs("/: give exactly one of path and paths")
	}
	if a.Path != "" {
		a.Paths = []string{a.Path}
	}
	p.Effect, p.Category, p.Reason = sdk.EffectIdempotent, sdk.CategoryFileDelete, a.Reason
	var files []fileRef
	var preview strings.Builder
	for _, name := range a.Paths {
		file, err := s.locateWritable(name, true)
		if err != nil {
			return err
		}
		size, err := file.deletableSize(p.again)
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

// deletableSize returns the size of the file or link that would be deleted. With again, a missing file has size 0.
func (p fileRef) deletableSize(again bool) (int64, error) {
	info, err := p.stat()
	switch {
	case again && errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, fileError(p.rel, err)
	case info.IsDir():
		return 0, newFailure("%s is a directory; only files are deleted", p.rel)
	}
	return info.Size(), nil
}

func deleteFiles(files []fileRef, again bool) (outcome, error) {
	result := deleteResult{Deleted: []string{}}
	done := outcome{}
	for _, file := range files {
		err := file.remove()
		switch {
		case again && errors.Is(err, fs.ErrNotExist):
			result.Missing = append(result.Missing, file.rel)
			continue
		case err != nil && len(result.Deleted) > 0:
			return done, fmt.Errorf("deleted %s, and then: %w", strings.Join(result.Deleted, ", "), fileError(file.rel, err))
		case err != nil:
			return done, fileError(file.rel, err)
		}
		result.Deleted, done.changed = append(result.Deleted, file.rel), append(done.changed, file.rel)
	}
	done.data = result
	return done, nil
}

func (p fileRef) remove() error {
	root, name, done, err := p.open()
	if err != nil {
		return err
	}
	defer done()
	switch info, err := root.Lstat(name); {
	case err != nil:
		return err
	case info.IsDir(): // Remove would delete an empty directory
		return newFailure("%s is a directory; only files are deleted", p.rel)
	}
	return root.Remove(name)
}
