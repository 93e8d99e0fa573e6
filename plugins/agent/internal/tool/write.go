package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type writeArgs struct{ Path, Content, Reason string }

type writeResult struct {
	Path   string `json:"path"`
	Status string `json:"status"`
	Bytes  int    `json:"bytes"`
}

func (a writeArgs) prepare(s *Set, p *PreparedCall) error {
	if len(a.Content) > maxContent {
		return InvalidArgs("/content: has %d bytes, more than %d", len(a.Content), maxContent)
	}
	file, err := s.locateWritable(a.Path, false)
	if err != nil {
		return err
	}
	before, exists, err := file.currentContent()
	if err != nil {
		return err
	}
	if err := checkMarks(string(before), a.Content); err != nil {
		return err
	}
	p.Effect, p.Category, p.Paths, p.Reason = sdk.EffectIdempotent, sdk.CategoryFileWrite, []string{file.rel}, a.Reason
	p.Preview = s.preview(file.rel, before, exists, []byte(a.Content))
	p.run = func(context.Context) (outcome, error) { return writeFile(file, []byte(a.Content)) }
	return nil
}

func writeFile(file fileRef, content []byte) (outcome, error) {
	before, exists, err := file.currentContent()
	if err != nil {
		return outcome{}, err
	}
	if err := checkMarks(string(before), string(content)); err != nil {
		return outcome{}, err
	}
	result := writeResult{Path: file.rel, Status: "created", Bytes: len(content)}
	switch {
	case exists && bytes.Equal(before, content):
		result.Status = "unchanged"
		return outcome{data: result}, nil
	case exists:
		result.Status = "overwritten"
	}
	if err := file.save(content); err != nil {
		return outcome{}, fileError(file.rel, err)
	}
	return outcome{data: result, changed: []string{file.rel}}, nil
}

// currentContent returns the current content of the file.
func (p fileRef) currentContent() (content []byte, exists bool, err error) {
	content, err = p.load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w", p.rel, err)
	}
	return content, true, nil
}
