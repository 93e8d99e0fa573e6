package signing

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// absence is how long a project must be unused and missing before its heads are removed. A disk that is not mounted looks
// like a missing project.
const absence = 90 * 24 * time.Hour

// sweepHeads removes the heads of projects that are gone. An error leaves them for the next time.
func sweepHeads(heads string) {
	projects, _ := os.ReadDir(heads)
	for _, p := range projects {
		dir := filepath.Join(heads, p.Name())
		if info, err := p.Info(); err == nil && info.IsDir() && time.Since(info.ModTime()) > absence && isGone(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

// isGone reports whether the project of the heads in a directory is known to be missing.
func isGone(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, file := range files {
		var h struct{ Path string }
		if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &h) != nil || !filepath.IsAbs(h.Path) {
			continue
		}
		_, err := os.Lstat(h.Path)
		return errors.Is(err, fs.ErrNotExist)
	}
	return false
}
