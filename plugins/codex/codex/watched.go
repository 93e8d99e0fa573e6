package codex

import (
	"encoding/json"
	"io"
	"os"
	"syscall"
)

// watchedBytes limits the size of a watched file; agents write a few kilobytes.
const watchedBytes = 1 << 20

// watchedFile is a file that the agent may write during the attempt.
type watchedFile struct {
	path   string      // "" for no file
	before os.FileInfo // nil if the file did not exist
}

func watchFile(path string) watchedFile {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	return watchedFile{path: path, before: info}
}

// read returns the content that was written since the attempt began, nil if there is none. Irregular and oversized files
// have none, because the agent may put anything at the path.
func (w watchedFile) read() []byte {
	if w.path == "" {
		return nil
	}
	f, err := os.OpenFile(w.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > watchedBytes || w.isUnchanged(info) {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, watchedBytes))
	if err != nil {
		return nil
	}
	return content
}

// isUnchanged reports whether a file is still the file from before the attempt.
func (w watchedFile) isUnchanged(now os.FileInfo) bool {
	return w.before != nil && os.SameFile(w.before, now) && w.before.Size() == now.Size() && w.before.ModTime().Equal(now.ModTime())
}

// isDecision reports whether a status says that the iteration is over. An incomplete status is not JSON.
func isDecision(status []byte) bool {
	var s struct {
		Decision string `json:"decision"`
	}
	if json.Unmarshal(status, &s) != nil {
		return false
	}
	return s.Decision == "continue" || s.Decision == "stop"
}

// isObject reports whether a file holds one complete, non-empty JSON object.
func isObject(content []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(content, &members) == nil && len(members) > 0
}
