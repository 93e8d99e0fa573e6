package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const version = "v0.3.0"

// testWorkspace creates a workspace of three modules: top needs lib, other needs none.
func testWorkspace(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.work":            "go 1.26.0\n\nuse (\n\t./cmd/top\n\t./lib\n\t./other\n)\n",
		"LICENSE":            "do what you like\n",
		"cmd/top/go.mod":     topMod,
		"cmd/top/main.go":    "package main\n\nfunc main() {}\n",
		"cmd/top/sub/go.mod": "module example.com/shop/cmd/top/sub\n",
		"lib/go.mod":         "module example.com/shop/lib\n\ngo 1.26.0\n",
		"lib/LICENSE":        "its own\n",
		"lib/Upper.go":       "package lib\n",
		"other/go.mod":       "module example.com/shop/other\n\ngo 1.26.0\n",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const topMod = `module example.com/shop/cmd/top

go 1.26.0

require (
	example.com/shop/lib v0.1.0
	example.com/stranger v1.2.3 // indirect
)

replace example.com/shop/lib => ../../lib
`

const releasedTopMod = `module example.com/shop/cmd/top

go 1.26.0

require (
	example.com/shop/lib v0.3.0
	example.com/stranger v1.2.3 // indirect
)
`

func TestPublish(t *testing.T) {
	out := t.TempDir()
	if err := run(options{root: testWorkspace(t), version: version, out: out, only: "cmd/top/"}); err != nil {
		t.Fatal(err)
	}
	var published []string
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(out, path)
			published = append(published, name)
		}
		return err
	})
	want := []string{
		"example.com/shop/cmd/top/@v/list", "example.com/shop/cmd/top/@v/v0.3.0.info",
		"example.com/shop/cmd/top/@v/v0.3.0.mod", "example.com/shop/cmd/top/@v/v0.3.0.zip",
		"example.com/shop/lib/@v/list", "example.com/shop/lib/@v/v0.3.0.info",
		"example.com/shop/lib/@v/v0.3.0.mod", "example.com/shop/lib/@v/v0.3.0.zip",
	}
	if diff := cmp.Diff(want, published); diff != "" || err != nil {
		t.Fatalf("files, error %v (-want +got):\n%s", err, diff)
	}

	top := filepath.Join(out, "example.com/shop/cmd/top/@v")
	if got := read(t, filepath.Join(top, "v0.3.0.mod")); got != releasedTopMod {
		t.Errorf("(-want +got):\n%s", cmp.Diff(releasedTopMod, got))
	}
	var info struct{ Version string }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(top, "v0.3.0.info"))), &info); err != nil || info.Version != version {
		t.Errorf("info %+v, %v", info, err)
	}
	checkZip(t, filepath.Join(top, "v0.3.0.zip"), "example.com/shop/cmd/top", map[string]string{
		"go.mod": releasedTopMod, "main.go": "package main\n\nfunc main() {}\n", "LICENSE": "do what you like\n",
	})
	checkZip(t, filepath.Join(out, "example.com/shop/lib/@v/v0.3.0.zip"), "example.com/shop/lib", map[string]string{
		"go.mod": "module example.com/shop/lib\n\ngo 1.26.0\n", "Upper.go": "package lib\n", "LICENSE": "its own\n",
	})
}

// checkZip compares the files of a module's archive, which must follow the go command's rules.
func checkZip(t *testing.T, file, modulePath string, want map[string]string) {
	t.Helper()
	checked, err := modzip.CheckZip(module.Version{Path: modulePath, Version: version}, file)
	if err := errors.Join(err, checked.Err()); err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(f.Name, modulePath+"@"+version+"/")] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestWrite(t *testing.T) {
	root := testWorkspace(t)
	if err := run(options{root: root, version: version, write: true}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(root, "cmd/top/go.mod")); got != releasedTopMod {
		t.Errorf("(-want +got):\n%s", cmp.Diff(releasedTopMod, got))
	}
}

func TestRefusals(t *testing.T) {
	root := testWorkspace(t)
	forked := filepath.Join(root, "other/go.mod")
	if err := os.WriteFile(forked, []byte("module example.com/shop/other\n\nreplace example.com/stranger => ../fork\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(root, "out")
	for says, o := range map[string]options{
		"either -out or -write":       {root: root, version: version},
		"want one such as v0.1.0":     {root: root, version: "0.1", out: out},
		`has no module in "absent"`:   {root: root, version: version, out: out, only: "absent"},
		"replaces example.com/strang": {root: root, version: version, out: out},
		"read the workspace":          {root: out, version: version, out: out},
	} {
		if err := run(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("run(%+v): %v, want %q", o, err, says)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A released go.mod replaces nothing and requires the other modules at the released version.
func FuzzReleased(f *testing.F) {
	f.Add(topMod)
	f.Add("module x\nrequire example.com/shop/lib v0.0.1\nrequire example.com/shop/lib v0.0.2\n")
	f.Add("module x\nreplace example.com/shop/lib v0.1.0 => ./a\nreplace example.com/shop/lib => ./b\n")
	lib := member{path: "example.com/shop/lib", dir: "lib"}
	f.Fuzz(func(t *testing.T, goMod string) {
		m := member{path: "x", dir: "x", goMod: []byte(goMod)}
		w := workspace{modules: []member{m, lib}}
		out, err := w.releasedGoMod(m, version)
		if err != nil {
			return
		}
		again, err := w.releasedGoMod(member{path: "x", dir: "x", goMod: out}, version)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("a released go.mod changes once more: %v\n%s\n%s", err, out, again)
		}
		if f, err := modfile.Parse("go.mod", out, nil); err != nil || len(f.Replace) > 0 {
			t.Errorf("a replace is left (%v):\n%s", err, out)
		}
	})
}
