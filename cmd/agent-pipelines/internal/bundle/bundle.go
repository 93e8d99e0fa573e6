package bundle

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Format is the version of the manifest.
const Format = 1

// ManifestFile is the name of the manifest in the archive, below the session's name.
const ManifestFile = "MANIFEST.json"

// Manifest describes the content of an archive. It is the archive's first entry.
type Manifest struct {
	Format     int           `json:"format"` // [Format]
	Session    string        `json:"session"`
	RunID      string        `json:"run_id,omitempty"`
	Status     string        `json:"status"`
	Running    bool          `json:"running,omitempty"` // the session was running: the files may be from different moments
	ExportedAt time.Time     `json:"exported_at"`
	Version    string        `json:"version"` // of the program
	Files      []File        `json:"files"`   // by path
	LeftOut    []OmittedFile `json:"left_out,omitempty"`
}

// File is a file of an archive.
type File struct {
	Path   string `json:"path"`   // below the session's name, with slashes
	Size   int64  `json:"size"`   // in bytes, as it is in the archive
	SHA256 string `json:"sha256"` // of the content in the archive, lower-case hex
	// Redacted reports that secrets were removed, so that references to the file by its digest are no longer valid.
	Redacted bool `json:"redacted,omitempty"`
	// Binary reports that the file is not a text and was not searched for secrets.
	Binary bool `json:"binary,omitempty"`

	offset   int64 // in the spool
	modified time.Time
}

// OmittedFile is a file of the session that is not in the archive.
type OmittedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// JournalAsExported reports whether a journal has lost secrets to an export, and is as that export wrote it.
func JournalAsExported(journal string) bool {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(filepath.Dir(journal), ManifestFile))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return false
	}
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == filepath.Base(journal) && f.Redacted })
	in, err := os.Open(journal)
	if i < 0 || err != nil {
		return false
	}
	defer in.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == m.Files[i].SHA256
}

// Write writes the archive, tar with gzip, of all files below root, and completes the manifest. spool is an empty file
// that takes the packed files, because the manifest precedes them in the archive.
func Write(to io.Writer, root fs.FS, m *Manifest, secrets *redact.Redactor, spool *os.File) error {
	m.Format, m.Files = Format, []File{}
	var offset int64
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if reason := exclusionReason(name, d); reason != "" {
			m.LeftOut = append(m.LeftOut, OmittedFile{name, reason})
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		f, err := pack(spool, offset, root, name, secrets)
		if errors.Is(err, fs.ErrNotExist) { // the running session removed the file
			return nil
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		offset += f.Size
		m.Files = append(m.Files, f)
		return nil
	})
	if err != nil {
		return err
	}
	return archive(to, m, spool)
}

// exclusionReason returns the reason for leaving out a file, "" for a file that belongs in the archive.
func exclusionReason(name string, d fs.DirEntry) string {
	base := path.Base(name)
	switch {
	case name == "inbox":
		return "requests for the kernel"
	case strings.HasPrefix(base, ".tmp-"):
		return "an unfinished write"
	case base == "events.jsonl.lock":
		return "an empty lock file"
	case !d.IsDir() && !d.Type().IsRegular():
		return "not a regular file (" + d.Type().Type().String() + ")"
	default:
		return ""
	}
}

func archive(to io.Writer, m *Manifest, spool io.ReaderAt) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("render the manifest: %w", err)
	}
	text = append(text, '\n')
	zipped := gzip.NewWriter(to)
	packed := tar.NewWriter(zipped)
	entry := func(name string, size int64, at time.Time, from io.Reader) error {
		h := &tar.Header{Name: m.Session + "/" + name, Size: size, Mode: 0o644, ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := packed.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(packed, from)
		return err
	}
	if err := entry(ManifestFile, int64(len(text)), m.ExportedAt, strings.NewReader(string(text))); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := entry(f.Path, f.Size, f.modified, io.NewSectionReader(spool, f.offset, f.Size)); err != nil {
			return err
		}
	}
	return errors.Join(packed.Close(), zipped.Close())
}

// pack appends a file to the spool, with its secrets removed. offset is the current size of the spool.
func pack(spool *os.File, offset int64, root fs.FS, name string, secrets *redact.Redactor) (File, error) {
	in, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return File{}, err
	}
	before, after := sha256.New(), sha256.New()
	binary, err := clean(io.MultiWriter(spool, after), io.TeeReader(in, before), path.Ext(name), secrets)
	if err != nil {
		return File{}, err
	}
	end, err := spool.Seek(0, io.SeekCurrent)
	if err != nil {
		return File{}, err
	}
	f := File{Path: name, Size: end - offset, offset: offset, SHA256: hex.EncodeToString(after.Sum(nil)), Binary: binary, modified: info.ModTime()}
	f.Redacted = hex.EncodeToString(before.Sum(nil)) != f.SHA256
	return f, nil
}
