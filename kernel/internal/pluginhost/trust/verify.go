package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Binary is a plugin's file that was checked and is still open. The caller closes it.
type Binary struct {
	// File is the open file, the very one whose digest was taken.
	File *os.File
	// Path is where it was opened.
	Path string
	// SHA256 is its digest in lower-case hex.
	SHA256 string
	// Size is in bytes, ModTime in nanoseconds since 1970.
	Size    int64
	ModTime int64
}

// Close closes the file.
func (b *Binary) Close() error { return b.File.Close() }

// Verifier checks binaries. It is safe for concurrent use.
type Verifier struct {
	locks   []Lock
	digests digests
}

// NewVerifier checks against the locks. The first that has an entry for a plugin decides, so that a
// project's lock after the user's can only add.
func NewVerifier(locks ...Lock) *Verifier {
	return &Verifier{locks: locks, digests: digests{known: map[identity]string{}}}
}

// Open opens the plugin at path and checks it. Errors are of type [failure.Error]: provider_missing
// when there is no such file, plugin_invalid when it is nothing that can be executed, and
// plugin_untrusted when its digest is not the locked one.
func (v *Verifier) Open(path string) (*Binary, error) {
	// Not blocking: what the name says now may be a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openFault(path, err)
	}
	b, err := v.check(f, path)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return b, nil
}

func openFault(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.ProviderMissing, "plugin %s does not exist: %w", path, err).
			WithHint("install it again, or look at `agent-pipelines plugins list`")
	case errors.Is(err, fs.ErrPermission):
		return failure.New(failure.PluginInvalid, "plugin %s cannot be read: %w", path, err).
			WithHint("chmod u+rx %s", path)
	}
	return failure.New(failure.PluginInvalid, "open plugin %s: %w", path, err)
}

func (v *Verifier) check(f *os.File, path string) (*Binary, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, failure.New(failure.PluginInvalid, "read plugin %s: %w", path, err)
	}
	if reason := Unfit(info); reason != "" {
		return nil, failure.New(failure.PluginInvalid, "plugin %s is %s", path, reason).
			WithHint("a plugin is an executable file; see `agent-pipelines plugins list`")
	}
	sum, err := v.digests.of(f, info)
	if err != nil {
		return nil, failure.New(failure.PluginInvalid, "take the digest of plugin %s: %w", path, err)
	}
	if err := v.compare(path, sum); err != nil {
		return nil, err
	}
	return &Binary{File: f, Path: path, SHA256: sum, Size: info.Size(), ModTime: info.ModTime().UnixNano()}, nil
}

// Unfit says why a file can be no plugin, "" if it can.
func Unfit(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a directory"
	case !info.Mode().IsRegular():
		return "not a regular file"
	case info.Mode().Perm()&0o111 == 0:
		return "not executable"
	case info.Size() == 0:
		return "empty"
	}
	return ""
}

func (v *Verifier) compare(path, sum string) error {
	name := filepath.Base(path)
	for _, lock := range v.locks {
		want, locked := lock.Digest(name, Platform())
		switch {
		case !locked:
			continue
		case want == sum:
			return nil
		}
		return failure.New(failure.PluginUntrusted,
			"plugin %s is not the one that %s locks: its sha256 is %s, locked is %s", path, lock.Path, sum, want).
			WithHint("if you replaced it yourself, write its new digest into %s; if not, install it again from its source", lock.Path)
	}
	return nil
}

// Platform names this system in the lock: "linux/amd64".
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
