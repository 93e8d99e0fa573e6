//go:build !linux

package catalog

import (
	"io/fs"
	"os"
)

// selfProgram is the program of this process, with its file at the time when the process began to host plugins.
type selfProgram struct {
	path string
	info fs.FileInfo // nil if it could not be read
}

func runningProgram(path string) selfProgram {
	info, _ := os.Stat(path) // open reports its errors
	return selfProgram{path: path, info: info}
}

// open opens the program's file, and refuses a file that has replaced it since then.
func (s selfProgram) open() (*os.File, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if s.info == nil || !os.SameFile(s.info, now) || s.info.Size() != now.Size() || !s.info.ModTime().Equal(now.ModTime()) {
		_ = f.Close()
		return nil, errReplaced
	}
	return f, nil
}
