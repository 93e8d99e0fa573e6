//go:build dist

package dist

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the repository.
const root = "../.."

// artifact is an entry of dist/artifacts.json, as goreleaser writes it.
type artifact struct {
	Name, Path, Type string
	OS               string `json:"goos"`
	Arch             string `json:"goarch"`
}

// artifacts returns the artifacts of a type. The test fails if there are none.
func artifacts(t *testing.T, dir, kind string) []artifact {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "dist", "artifacts.json"))
	if err != nil {
		t.Fatalf("%v; make snapshot makes it", err)
	}
	var all, found []artifact
	check(t, json.Unmarshal(text, &all))
	for _, a := range all {
		if a.Type == kind {
			a.Path = filepath.Join(dir, a.Path)
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no artifact is a %s", kind)
	}
	return found
}

func digest(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	check(t, err)
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// unpack extracts an archive into a directory and returns the names of its files.
func unpack(t *testing.T, archive, dir string) map[string]bool {
	t.Helper()
	f, err := os.Open(archive)
	check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(t, err)
	names := map[string]bool{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		check(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Uname != "root" || !filepath.IsLocal(h.Name) {
			t.Errorf("%s belongs to %s", h.Name, h.Uname)
		}
		if want := mode(h.Name); h.FileInfo().Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", h.Name, h.FileInfo().Mode().Perm(), want)
		}
		names[h.Name] = true
		write(t, filepath.Join(dir, h.Name), h.FileInfo().Mode().Perm(), r)
	}
}

// mode returns the permissions of a file in an archive. All users can read it, and execute it if it is a program.
func mode(name string) os.FileMode {
	if strings.HasPrefix(filepath.Base(name), "agent-p") && !strings.HasPrefix(name, "share/") {
		return 0o755
	}
	return 0o644
}

func write(t *testing.T, file string, mode os.FileMode, content io.Reader) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	check(t, err)
	_, err = io.Copy(f, content)
	check(t, errors.Join(err, f.Close()))
}

// plugins returns the names of the repository's plugins.
func plugins(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "plugins", "*", "go.mod"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

// shared returns the paths of the files for shells and man, relative to bin/share.
func shared(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join(root, "bin", "share")
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}
