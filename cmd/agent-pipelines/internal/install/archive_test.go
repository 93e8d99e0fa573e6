package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file is a member of an archive to be packed.
type file struct {
	name, content string
	link          string // makes it a symbolic link
	claims        int64  // a false size in its header
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
		check(t, w.WriteHeader(h))
		if f.claims > 0 {
			_ = z.Close() // cut off: the header is all that is read
			return b.Bytes()
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.Close())
	check(t, z.Close())
	return b.Bytes()
}

// unpacked returns the content of the plugin in an archive.
func unpacked(t testing.TB, archive []byte, l limits) (string, error) {
	t.Helper()
	file, _, err := unpackPlugin(bytes.NewReader(archive), t.TempDir(), l)
	if err != nil {
		return "", err
	}
	content := must(os.ReadFile(file))
	return string(content), nil
}

func TestArchive(t *testing.T) {
	small := limits{binary: 100, unpacked: 10_000, members: 3}
	good := []file{{name: "x/"}, {name: "x/README", content: "read me"}, {name: "x/agent-plugin-x", content: "the plugin"}}
	for _, tt := range []struct {
		name    string
		files   []file
		limits  limits
		message string // of the error, "" for none
	}{
		{"a plugin and a text", good, small, ""},
		{"a path that leads up", append(good[1:], file{name: "../../agent-plugin-x"}), small, "leads out of the archive"},
		{"a path that leads up in the end", []file{{name: "a/../../x"}}, small, "leads out of the archive"},
		{"an absolute path", []file{{name: "/etc/agent-plugin-x"}}, small, "leads out of the archive"},
		{"a link", []file{{name: "agent-plugin-x", link: "/bin/sh"}}, small, "a link or a device"},
		{"too many files", append(good, file{name: "more"}), small, "more than 3 files"},
		{"a large file", []file{{name: "agent-plugin-x", content: strings.Repeat("x", 101)}}, small, "larger than"},
		{"two plugins", []file{{name: "agent-plugin-x", content: "a"}, {name: "linux/agent-plugin-x", content: "b"}}, small, "several plugins: agent-plugin-x and linux/agent-plugin-x"},
		{"no plugin", []file{{name: "README.md"}, {name: "agent-plugin-x.sha256"}}, small, "no file called agent-plugin-<name>"},
		{"nothing", nil, small, "no file called agent-plugin-<name>"},
		{"an impossible size", []file{{name: "agent-plugin-x", claims: 1 << 50}}, defaultLimits, "larger than 512 MiB"},
		{"a limit between two files", []file{{name: "zeros", content: strings.Repeat("\x00", 512)}, {name: "more", content: "x"}}, limits{binary: 1 << 20, unpacked: 1024, members: 3}, "unpacks to more"},
		{"much out of little", []file{{name: "zeros", content: strings.Repeat("\x00", 20_000)}}, limits{binary: 1 << 20, unpacked: 10_000, members: 3}, "unpacks to more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := unpacked(t, packTar(t, tt.files...), tt.limits)
			if tt.message == "" && (err != nil || got != "the plugin") || tt.message != "" && (err == nil || !strings.Contains(err.Error(), tt.message)) {
				t.Errorf("unpacked %q, %v; want error %q", got, err, tt.message)
			}
		})
	}
}

// A file is the plugin itself, unless it is an archive or has the name of an archive.
func TestStageFile(t *testing.T) {
	for name, want := range map[string]string{"agent-plugin-x": "", "x.tar.gz": "its suffix is .gz, but its content is not", "x.tar.XZ": "its suffix is .XZ, but its content is not", "x.zip": "its suffix is .zip, but its content is not"} {
		f, info, err := openRegular(plugin(t, name, "#!/bin/sh\n"))
		check(t, err)
		_, err = stageFile(f, info.Size(), t.TempDir())
		_ = f.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if _, _, err := openRegular(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
}

// Reading any archive ends, and writes nothing but the plugin.
func FuzzArchive(f *testing.F) {
	f.Add(packTar(f, file{name: "linux_amd64/agent-plugin-x", content: "x"}, file{name: "d/"}))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		file, _, err := unpackPlugin(bytes.NewReader(content), dir, limits{binary: 1 << 16, unpacked: 1 << 18, members: 100})
		if err != nil {
			return
		}
		info, err := os.Stat(file)
		if err != nil || filepath.Dir(file) != dir || info.Size() > 1<<16 {
			t.Errorf("unpacked %s, %v", file, err)
		}
	})
}
