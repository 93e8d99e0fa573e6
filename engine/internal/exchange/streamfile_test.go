package exchange

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

func newStreamFile(t *testing.T) (s *streamFile, path string) {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	return &streamFile{store: dir, name: "stream.jsonl", redactor: redact.New(nil).ForAgent().Stream()}, filepath.Join(dir.Path(), "stream.jsonl")
}

// A chunk is in the file immediately, so that it survives a crash.
func TestSpoolWritesAtOnce(t *testing.T) {
	s, path := newStreamFile(t)
	s.add("one\n")
	s.add("two\n")
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("file %q, error %v", text, err)
	}
	if got := s.readTail(5); got != "\ntwo\n" {
		t.Errorf("end %q", got)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func TestSpoolWithoutAStreamMakesNoFile(t *testing.T) {
	s, path := newStreamFile(t)
	s.add("")
	if err := s.close(); err != nil || s.readTail(9) != "" {
		t.Errorf("close %v, end %q", err, s.readTail(9))
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("stat: %v", err)
	}
}

// The file of a long stream has its beginning, its end and the number of missing bytes.
func TestSpoolIsBounded(t *testing.T) {
	s, path := newStreamFile(t)
	chunk := strings.Repeat("x", 1<<20-1) + "\n"
	for range maxStreamHead/len(chunk) + 3 {
		s.add(chunk)
	}
	s.add("last\n")
	if got := s.readTail(5); got != "last\n" {
		t.Errorf("end %q", got)
	}
	testkit.OK(t, s.close())
	text := testkit.Must(os.ReadFile(path))
	const notice = "\n[2097157 bytes dropped]\n"
	if len(text) != maxStreamHead+len(notice)+maxStreamTail || !strings.HasSuffix(string(text), "last\n") || !strings.Contains(string(text), notice) {
		t.Errorf("%d bytes, ending %q", len(text), text[len(text)-20:])
	}
}
