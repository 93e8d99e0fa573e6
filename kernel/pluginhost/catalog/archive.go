package catalog

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// limits protect this machine from a malicious archive.
type limits struct {
	// binary is the largest plugin, unpacked the largest unpacked archive, both in bytes.
	binary, unpacked int64
	// members is the largest number of files and directories in an archive.
	members int
}

// defaultLimits exceed every real plugin: a large one in Go has 50 MB.
var defaultLimits = limits{binary: 512 << 20, unpacked: 2 << 30, members: 10_000}

// archiveFormat is the file format that contains the plugin.
type archiveFormat string

const (
	notPacked   archiveFormat = "" // it is the plugin
	formatTarGz archiveFormat = ".tar.gz"
	formatZip   archiveFormat = ".zip"
)

// archiveSuffixes are the endings of file names that are no plugins.
var archiveSuffixes = []string{".tar", ".gz", ".tgz", ".zip", ".xz", ".bz2", ".zst", ".7z"}

// detectFormat reads the first bytes of a file; it uses the name only to refuse unknown archives.
func detectFormat(f *os.File) (archiveFormat, error) {
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return notPacked, err
	}
	switch begin := head[:n]; {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return formatTarGz, nil
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return formatZip, nil
	}
	for _, end := range archiveSuffixes {
		if strings.HasSuffix(strings.ToLower(f.Name()), end) {
			return notPacked, fmt.Errorf("it is called %s and is no archive that can be read", end)
		}
	}
	return notPacked, nil
}

// member is a regular file of an archive.
type member struct {
	path string // as the archive has it
	open func() (io.ReadCloser, error)
}

// archive is an open archive. It is read twice: to choose a member, and to unpack it.
type archive struct {
	file   *os.File
	format archiveFormat
	limits limits
}

// paths returns the paths of all regular files. An archive with any unsafe member is refused as a whole, even
// though only one file is needed, since it may be malicious.
func (a archive) paths() ([]string, error) {
	var paths []string
	seen := map[string]bool{}
	err := a.walk(func(m member) error {
		clean := filepath.Clean(m.path)
		if seen[clean] {
			return fmt.Errorf("it holds %q twice", m.path)
		}
		seen[clean] = true
		paths = append(paths, m.path)
		return nil
	})
	return paths, err
}

// unpack copies a member of the archive.
func (a archive) unpack(path string, to io.Writer) error {
	err := a.walk(func(m member) error {
		if m.path != path {
			return nil
		}
		from, err := m.open()
		if err != nil {
			return err
		}
		defer from.Close()
		if err := copyLimited(to, from, a.limits.binary); err != nil {
			return err
		}
		return errStopWalk
	})
	switch {
	case errors.Is(err, errStopWalk):
		return nil
	case err == nil:
		return fmt.Errorf("%q is no longer in it", path)
	default:
		return err
	}
}

var errStopWalk = errors.New("done")

// copyLimited copies bytes; more than the limit most are an error.
func copyLimited(to io.Writer, from io.Reader, most int64) error {
	n, err := io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return err
}

func (a archive) walk(visit func(member) error) error {
	if a.format == formatZip {
		return a.walkZip(visit)
	}
	return a.walkTar(visit)
}

func (a archive) walkTar(visit func(member) error) error {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	unzip, err := gzip.NewReader(a.file)
	if err != nil {
		return err
	}
	defer unzip.Close()
	reader := tar.NewReader(&limitedReader{from: unzip, remaining: a.limits.unpacked})
	for n := 0; ; n++ {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg, tar.TypeDir:
		default:
			return fmt.Errorf("%q in it is a link or a device, not a file", h.Name)
		}
		if err := a.checkMember(n, h.Name, h.Size); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if err := visit(member{path: h.Name, open: func() (io.ReadCloser, error) { return io.NopCloser(reader), nil }}); err != nil {
			return err
		}
	}
}

func (a archive) walkZip(visit func(member) error) error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	reader, err := zip.NewReader(a.file, info.Size())
	if err != nil {
		return err
	}
	for n, f := range reader.File {
		mode := f.Mode()
		if !mode.IsRegular() && !mode.IsDir() {
			return fmt.Errorf("%q in it is a link or a device, not a file", f.Name)
		}
		if err := a.checkMember(n, f.Name, int64(min(f.UncompressedSize64, 1<<62))); err != nil {
			return err
		}
		if mode.IsDir() {
			continue
		}
		if err := visit(member{path: f.Name, open: f.Open}); err != nil {
			return err
		}
	}
	return nil
}

// checkMember refuses a member by its index, its path, or its declared size.
func (a archive) checkMember(n int, path string, size int64) error {
	switch {
	case n >= a.limits.members:
		return fmt.Errorf("it holds more than %d files", a.limits.members)
	case !filepath.IsLocal(filepath.FromSlash(path)):
		return fmt.Errorf("%q in it leads out of the archive", path)
	case size < 0 || size > a.limits.binary:
		return fmt.Errorf("%q in it is larger than %d MiB", path, a.limits.binary>>20)
	}
	return nil
}

// limitedReader returns an error after left bytes.
type limitedReader struct {
	from      io.Reader
	remaining int64
}

var errTooLarge = errors.New("it unpacks to more than a plugin can need")

func (b *limitedReader) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.remaining)])
	b.remaining -= int64(n)
	return n, err
}

// openRegular opens a regular file; it refuses a directory and a pipe, which might never end.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
