package tool

import (
	"context"
	"errors"
	"io/fs"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type directoryArgs struct{ Path string }

type directoryResult struct {
	Path   string `json:"path"`
	Status string `json:"status"`
}

func (a directoryArgs) prepare(s *Set, p *PreparedCall) error {
	dir, err := s.locateWritable(a.Path, false)
	if err != nil && dir.rel != "." { // the workspace itself exists
		return err
	}
	p.Effect, p.Category, p.Paths = sdk.EffectIdempotent, sdk.CategoryDirectoryCreate, []string{dir.rel}
	p.Preview = "new directory " + dir.rel
	p.run = func(context.Context) (outcome, error) { return createDirectory(dir) }
	return nil
}

func createDirectory(dir fileRef) (outcome, error) {
	info, err := dir.stat()
	switch {
	case err == nil && info.IsDir():
		return outcome{data: directoryResult{Path: dir.rel, Status: "exists"}}, nil
	case err == nil:
		return outcome{}, newFailure("%s exists and is not a directory", dir.rel)
	case !errors.Is(err, fs.ErrNotExist):
		return outcome{}, fileError(dir.rel, err)
	}
	root, name, done, err := dir.open()
	if err != nil {
		return outcome{}, err
	}
	defer done()
	if err := root.MkdirAll(name, 0o777); err != nil {
		return outcome{}, err
	}
	return outcome{data: directoryResult{Path: dir.rel, Status: "created"}, changed: []string{dir.rel}}, nil
}
