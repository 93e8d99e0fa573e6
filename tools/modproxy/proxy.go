package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish writes a version's files of a module proxy (https://go.dev/ref/mod#goproxy-protocol)
// below out.
func publish(out, root string, m member, version string, goMod []byte) error {
	v := module.Version{Path: m.path, Version: version}
	files, err := contents(root, m.dir, goMod)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, v, files); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": versionTime(version)})
	if err != nil {
		return err
	}
	escaped, err := module.EscapePath(m.path)
	if err != nil {
		return err
	}
	dir := filepath.Join(out, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		version + ".zip": packed.Bytes(), version + ".mod": goMod, version + ".info": info, "list": []byte(version + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// versionTime returns the time in a pseudo-version, or now.
func versionTime(version string) time.Time {
	if t, err := module.PseudoVersionTime(version); err == nil {
		return t
	}
	return time.Now().UTC().Truncate(time.Second)
}

// contents returns the files of the module in dir below root, with goMod as go.mod.
func contents(root, dir string, goMod []byte) ([]zip.File, error) {
	place := filepath.Join(root, dir)
	checked, err := zip.CheckDir(place)
	if err != nil {
		return nil, err
	}
	files := []zip.File{file{name: "go.mod", content: goMod}}
	licensed := false
	for _, at := range checked.Valid {
		name, err := filepath.Rel(place, at)
		if err != nil {
			return nil, err
		}
		switch name {
		case "go.mod":
			continue
		case "LICENSE":
			licensed = true
		}
		content, err := os.ReadFile(at)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: filepath.ToSlash(name), content: content})
	}
	if licensed {
		return files, nil
	}
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return files, nil
	case err != nil:
		return nil, fmt.Errorf("read the license: %w", err)
	}
	return append(files, file{name: "LICENSE", content: license}), nil
}

// file is an in-memory file that implements zip.File and fs.FileInfo.
type file struct {
	name    string
	content []byte
}

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (fs.FileInfo, error)  { return f, nil }
func (f file) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.content)), nil }
func (f file) Name() string                 { return filepath.Base(f.name) }
func (f file) Size() int64                  { return int64(len(f.content)) }
func (f file) Mode() fs.FileMode            { return 0o644 }
func (f file) ModTime() time.Time           { return time.Time{} }
func (f file) IsDir() bool                  { return false }
func (f file) Sys() any                     { return nil }
