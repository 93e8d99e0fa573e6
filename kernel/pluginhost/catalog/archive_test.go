package catalog

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file is a member to be packed.
type file struct {
	name, content string
	link          string // makes it a symbolic link
	claims        int64  // a size that is not its own
}

func packTar(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		h.Size = max(h.Size, f.claims)
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if f.claims > 0 {
			_ = z.Close() // cut off: the header is all that is read
			return b.Bytes()
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZip(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(0o755)
		if f.link != "" {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		to, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(to, f.content+f.link); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openArchive returns an archive as Install opens it.
func openArchive(t testing.TB, content []byte, l limits) archive {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, _, err := openRegular(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	form, err := detectFormat(f)
	if err != nil {
		t.Fatal(err)
	}
	return archive{file: f, format: form, limits: l}
}

func TestArchive(t *testing.T) {
	small := limits{binary: 100, unpacked: 10_000, members: 3}
	good := []file{{name: "x/"}, {name: "x/README", content: "read me"}, {name: "x/agent-plugin-x", content: "the plugin"}}
	tests := []struct {
		name    string
		files   []file
		message string // of the error, "" for none
	}{
		{"a plugin and a text", good, ""},
		{"a path that leads up", append(good[1:], file{name: "../../agent-plugin-x"}), "leads out of the archive"},
		{"a path that leads up in the end", []file{{name: "a/../../x"}}, "leads out of the archive"},
		{"an absolute path", []file{{name: "/etc/agent-plugin-x"}}, "leads out of the archive"},
		{"a link", []file{{name: "agent-plugin-x", link: "/bin/sh"}}, "a link or a device"},
		{"too many files", append(good, file{name: "more"}), "more than 3 files"},
		{"a large file", []file{{name: "agent-plugin-x", content: strings.Repeat("x", 101)}}, "larger than"},
		{"one name twice", []file{{name: "x", content: "a"}, {name: "./x", content: "b"}}, "twice"},
	}
	for _, tt := range tests {
		for form, pack := range map[string]func(testing.TB, ...file) []byte{"tar": packTar, "zip": packZip} {
			t.Run(tt.name+" in "+form, func(t *testing.T) {
				a := openArchive(t, pack(t, tt.files...), small)
				paths, err := a.paths()
				if tt.message != "" {
					if err == nil || !strings.Contains(err.Error(), tt.message) {
						t.Fatalf("error %v, want %q", err, tt.message)
					}
					return
				}
				if err != nil || len(paths) != 2 {
					t.Fatalf("paths %q, %v", paths, err)
				}
				var content bytes.Buffer
				if err := a.unpack("x/agent-plugin-x", &content); err != nil || content.String() != "the plugin" {
					t.Errorf("unpacked %q, %v", content.String(), err)
				}
			})
		}
	}
	t.Run("an impossible size", func(t *testing.T) {
		_, err := openArchive(t, packTar(t, file{name: "agent-plugin-x", claims: 1 << 50}), defaultLimits).paths()
		if err == nil || !strings.Contains(err.Error(), "larger than 512 MiB") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("much out of little", func(t *testing.T) {
		bomb := packTar(t, file{name: "zeros", content: strings.Repeat("\x00", 20_000)})
		_, err := openArchive(t, bomb, limits{binary: 1 << 20, unpacked: 10_000, members: 3}).paths()
		if err == nil || !strings.Contains(err.Error(), "unpacks to more") {
			t.Errorf("error %v", err)
		}
	})
}

func TestChoose(t *testing.T) {
	tests := []struct {
		name  string
		paths []string
		want  string // or a part of the error
	}{
		{"flat", []string{"README.md", "agent-plugin-x"}, "agent-plugin-x"},
		{"one directory for all", []string{"x-1.0/agent-plugin-x"}, "x-1.0/agent-plugin-x"},
		{"a directory for each platform", []string{"darwin_arm64/agent-plugin-x", "linux_amd64/agent-plugin-x", "linux_arm64/agent-plugin-x"}, "linux_amd64/agent-plugin-x"},
		{"nested directories", []string{"linux/arm64/agent-plugin-x", "linux/amd64/agent-plugin-x"}, "linux/amd64/agent-plugin-x"},
		{"other words for the machine", []string{"x-Linux-x86_64/agent-plugin-x", "x-Darwin-x86_64/agent-plugin-x"}, "x-Linux-x86_64/agent-plugin-x"},
		{"the system alone", []string{"macos/agent-plugin-x", "linux/agent-plugin-x"}, "linux/agent-plugin-x"},
		{"named before unnamed", []string{"agent-plugin-x", "linux-amd64/agent-plugin-x"}, "linux-amd64/agent-plugin-x"},
		{"no plugin", []string{"README.md", "agent-plugin-x.sha256"}, "holds no file called agent-plugin-<name>"},
		{"nothing", nil, "holds no file called agent-plugin-<name>"},
		{"other platforms", []string{"darwin_arm64/agent-plugin-x", "linux_arm64/agent-plugin-x"}, "nothing for linux/amd64, only darwin_arm64/agent-plugin-x, linux_arm64/agent-plugin-x"},
		{"two plugins", []string{"b/agent-plugin-y", "a/agent-plugin-x"}, "several plugins for linux/amd64: a/agent-plugin-x, b/agent-plugin-y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := chooseMember(tt.paths, "linux/amd64")
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("choose = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestForm(t *testing.T) {
	for name, want := range map[string]archiveFormat{"agent-plugin-x": notPacked, "x.tar.gz": "refused", "x.tar.XZ": "refused"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		f, _, err := openRegular(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := detectFormat(f)
		_ = f.Close()
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%s is %q, want %q (%v)", name, got, want, err)
		}
	}
	if _, _, err := openRegular(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
}

// Reading any archive ends, and no member is outside it.
func FuzzArchive(f *testing.F) {
	f.Add(packTar(f, file{name: "linux_amd64/agent-plugin-x", content: "x"}, file{name: "d/"}))
	f.Add(packZip(f, file{name: "linux_amd64/agent-plugin-x", content: "x"}, file{name: "l", link: "x"}))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, content []byte) {
		a := openArchive(t, content, limits{binary: 1 << 16, unpacked: 1 << 18, members: 100})
		if a.format == notPacked {
			return
		}
		paths, err := a.paths()
		if err != nil {
			return
		}
		chosen, err := chooseMember(paths, "linux/amd64")
		if err != nil {
			return
		}
		if !filepath.IsLocal(chosen) || strings.Contains(filepath.Base(chosen), "/") {
			t.Errorf("chose %q", chosen)
		}
		var to bytes.Buffer
		if err := a.unpack(chosen, &to); err == nil && to.Len() > 1<<16 {
			t.Errorf("unpacked %d bytes", to.Len())
		}
	})
}
