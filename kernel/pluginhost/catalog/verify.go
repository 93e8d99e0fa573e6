package catalog

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Verifier checks binaries. It is safe for concurrent use.
type Verifier struct {
	locks []Lock
	cache *Cache
	self  selfProgram
}

// NewVerifier returns a verifier with the locks. The first lock with an entry for a plugin decides, so that a
// project's lock, listed after the user's, can only add entries. The cache keeps the digests of files.
func NewVerifier(cache *Cache, locks ...Lock) *Verifier {
	return &Verifier{locks: locks, cache: cache, self: runningProgram(programPath())}
}

// WithLocks returns a verifier with other locks and the same cache.
func (v *Verifier) WithLocks(locks ...Lock) *Verifier {
	return &Verifier{locks: locks, cache: v.cache, self: v.self}
}

// Uncached returns a verifier that takes no digest from an earlier process.
func (v *Verifier) Uncached() *Verifier {
	return &Verifier{locks: v.locks, cache: NewCache(""), self: v.self}
}

// Open opens the plugin at path and checks it. Errors are of type [failure.Error]. The kind is provider_missing
// without such a file, plugin_invalid if the file cannot be executed, and plugin_untrusted if its digest is not the
// locked digest.
func (v *Verifier) Open(path string) (*Binary, error) { return v.checkLocks(v.Read(path)) }

// Read opens the plugin at path as Open does, without checking its digest against the locks.
func (v *Verifier) Read(path string) (*Binary, error) {
	// Do not block: the file may be a pipe by now.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	return v.inspect(f, &Binary{Path: path, Name: filepath.Base(path)})
}

// ReadSelf opens the program of this process as the bundled plugin with args; name is its name in the lock. The
// running program is opened even if its file was replaced, because plugin and program must have the same version. Where
// the system cannot do that, a replaced file is a failure of kind plugin_invalid.
func (v *Verifier) ReadSelf(name string, args []string) (*Binary, error) {
	path := v.self.path
	f, err := v.self.open()
	if err != nil {
		return nil, openError(Command(path, args), err)
	}
	return v.inspect(f, &Binary{Path: path, Name: name, Args: args})
}

// Self returns the path of the running program.
func (v *Verifier) Self() string { return v.self.path }

// inspect fills in the data of the file, and closes the file if it cannot be a plugin.
func (v *Verifier) inspect(f *os.File, b *Binary) (*Binary, error) {
	b.File = f
	if err := v.measure(b); err != nil {
		_ = f.Close()
		return nil, err
	}
	return b, nil
}

// checkLocks returns the binary, or closes it and returns an error if the locks refuse it.
func (v *Verifier) checkLocks(b *Binary, err error) (*Binary, error) {
	if err != nil {
		return nil, err
	}
	if err := v.Check(b); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// measure sets digest, size and time of the open file.
func (v *Verifier) measure(b *Binary) error {
	info, err := b.File.Stat()
	if err != nil {
		return failure.New(failure.PluginInvalid, "read plugin %s: %w", b.Command(), err)
	}
	if reason := unfitReason(info); reason != "" {
		return failure.New(failure.PluginInvalid, "plugin %s is %s", b.Command(), reason).
			WithHint("a plugin is an executable file; see `%s`", failure.Next("plugins", "list"))
	}
	locked := v.LockStatus(b.Name, "").Locked != LockedNo // no digest of another process is compared with a lock
	sum, err := v.cache.digest(b.Path, b.File, info, locked)
	if err != nil {
		return failure.New(failure.PluginInvalid, "take the digest of plugin %s: %w", b.Command(), err)
	}
	b.SHA256, b.Size, b.ModTime = sum, info.Size(), info.ModTime().UnixNano()
	return nil
}

// LockStatus compares a binary of this name and digest with the locks. The first lock with an entry decides.
func (v *Verifier) LockStatus(name, sha256 string) LockStatus {
	for _, lock := range v.locks {
		want, locked := lock.Digest(name, Platform())
		if !locked {
			continue
		}
		s := LockStatus{Locked: LockedYes, Lock: lock.Path, SHA256: want}
		if want != sha256 {
			s.Locked = LockedMismatch
		}
		return s
	}
	return LockStatus{Locked: LockedNo}
}

// Check returns an error of kind plugin_untrusted if the locks refuse the binary.
func (v *Verifier) Check(b *Binary) error {
	s := v.LockStatus(b.Name, b.SHA256)
	if s.Locked != LockedMismatch {
		return nil
	}
	return failure.New(failure.PluginUntrusted,
		"plugin %s is not the one that %s locks as %s: its sha256 is %s, locked is %s", b.Command(), s.Lock, b.Name, b.SHA256, s.SHA256).
		WithHint("if you replaced it yourself, `%s` writes its new digest into %s (a project's lock needs "+
			"%s); if not, install it again from its source", failure.Next("plugins", "lock", strings.TrimPrefix(b.Name, Prefix)), s.Lock, failure.Option("project"))
}

// Platform returns the name of this system in the lock, such as "linux/amd64".
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// programPath returns the path of the running program at its start.
func programPath() string {
	path, _ := os.Executable()
	return cmp.Or(path, os.Args[0])
}
