package install

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
)

// limits protect this machine from a malicious archive.
type limits struct {
	// binary is the maximum size of a plugin, unpacked that of an unpacked archive, both in bytes.
	binary, unpacked int64
	// members is the largest number of files and directories in an archive.
	members int
}

// defaultLimits exceed every real plugin: a large plugin in Go has 50 MB.
var defaultLimits = limits{binary: 512 << 20, unpacked: 2 << 30, members: 10_000}

// unpackPlugin writes the plugin of a .tar.gz archive into a directory: its one file called agent-plugin-<name>. It
// returns the new file and the plugin's path in the archive. An archive with any unsafe member is refused as a whole,
// since it may be malicious.
func unpackPlugin(from io.Reader, dir string, l limits) (file, member string, err error) {
	unzip, err := gzip.NewReader(from)
	if err != nil {
		return "", "", err
	}
	defer unzip.Close()
	reader := tar.NewReader(io.LimitReader(unzip, l.unpacked+1)) // one byte beyond the blocks of tar, so that the limit is not taken for the end of the archive
	for n := 0; ; n++ {
		h, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF) && member == "":
			return "", "", errors.New("it holds no file called " + catalog.Prefix + "<name>")
		case errors.Is(err, io.EOF):
			return file, member, nil
		case err != nil:
			return "", "", l.explain(err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		if err := l.check(n, h); err != nil {
			return "", "", err
		}
		base := path.Base(h.Name)
		if _, isPlugin := catalog.PluginName(base); !isPlugin || h.Typeflag != tar.TypeReg {
			continue
		}
		if member != "" {
			return "", "", fmt.Errorf("it holds several plugins: %s and %s; unpack it and install each separately", member, h.Name)
		}
		file, member = filepath.Join(dir, base), h.Name
		if err := writeProgram(file, reader); err != nil {
			return "", "", l.explain(err)
		}
	}
}

// explain names the limit if an archive ended too early.
func (l limits) explain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is cut off, or unpacks to more than %d MiB", l.unpacked>>20)
	}
	return err
}

// check refuses the n-th member, counted from 0, by its kind, its path, or its declared size.
func (l limits) check(n int, h *tar.Header) error {
	switch {
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return fmt.Errorf("%q in it is a link or a device, not a file", h.Name)
	case n >= l.members:
		return fmt.Errorf("it holds more than %d files", l.members)
	case !filepath.IsLocal(filepath.FromSlash(h.Name)):
		return fmt.Errorf("%q in it leads out of the archive", h.Name)
	case h.Size > l.binary:
		return fmt.Errorf("its file %q is larger than %d MiB", h.Name, l.binary>>20)
	}
	return nil
}

// writeProgram writes an executable file and syncs it.
func writeProgram(path string, content io.Reader) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, content)
	return errors.Join(err, to.Chmod(0o755), to.Sync(), to.Close())
}
