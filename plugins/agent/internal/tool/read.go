package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type readArgs struct {
	Path          string
	Offset, Limit int
}

type readResult struct {
	Path      string      `json:"path"`
	Content   *string     `json:"content,omitempty"`
	Lines     int         `json:"lines"`
	Offset    int         `json:"offset,omitempty"`
	Unchanged bool        `json:"unchanged,omitempty"`
	Truncated *truncation `json:"truncated,omitempty"`
}

func (a readArgs) prepare(s *Set, p *PreparedCall) error {
	file, err := s.locate(a.Path, false)
	if err != nil {
		return err
	}
	p.Effect, p.Category, p.Paths = sdk.EffectNone, sdk.CategoryFileRead, []string{file.rel}
	p.run = func(context.Context) (outcome, error) { return s.readFile(file, a) }
	return nil
}

func (s *Set) readFile(file fileRef, a readArgs) (outcome, error) {
	content, err := file.load()
	if err != nil {
		return outcome{}, fileError(file.rel, err)
	}
	if binary(content) {
		return outcome{}, newFailure("%s is not text: its %d bytes include zero bytes", file.rel, len(content))
	}
	key := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%x", file.rel, a.Offset, a.Limit, sha256.Sum256(content))))[:24]
	lines := splitLines(text(content))
	result := readResult{Path: file.rel, Lines: len(lines), Offset: a.Offset}
	if s.isKept(key) {
		result.Unchanged = true
		return outcome{data: result, key: key}, nil
	}
	from := min(max(a.Offset-1, 0), len(lines))
	if a.Offset > 1 && from == len(lines) {
		return outcome{}, newFailure("%s has %d lines, and none from %d on", file.rel, len(lines), a.Offset)
	}
	to := len(lines)
	if a.Limit > 0 {
		to = min(from+a.Limit, to)
	}
	shown := strings.Join(s.redactLines(lines)[from:to], "\n")
	if to == len(lines) && bytes.HasSuffix(content, []byte("\n")) {
		shown += "\n"
	}
	shown, result.Truncated = cutMiddle(shown, s.maxBytes())
	result.Content = &shown
	return outcome{data: result, key: key}, nil
}

// binary reports whether a content is not text, by git's rule.
func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}

// text returns the content as valid UTF-8 for JSON.
func text(content []byte) string {
	if utf8.Valid(content) {
		return string(content)
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}
