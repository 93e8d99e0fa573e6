package catalog

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Prefix begins the name of every plugin's binary, in directories and in the lock.
const Prefix = "agent-plugin-"

// Binary is an open file of a plugin, with its digest. The caller closes it.
type Binary struct {
	// File is the open file whose digest was computed.
	File *os.File
	// Path is the path by which File was opened.
	Path string
	// Name is the name in the lock: the base name of the file, or the name given to [Verifier.ReadSelf].
	Name string
	// Args are the plugin's first arguments; none for a file that is a single plugin.
	Args []string
	// SHA256 is the digest of File in lower-case hex.
	SHA256 string
	// Size is in bytes, ModTime in nanoseconds since 1970.
	Size    int64
	ModTime int64
}

// Command returns the plugin's command line for messages.
func (b *Binary) Command() string { return Command(b.Path, b.Args) }

// Command returns a command line for messages; nothing in it is quoted.
func Command(path string, args []string) string {
	return strings.Join(append([]string{path}, args...), " ")
}

// Close closes the file.
func (b *Binary) Close() error { return b.File.Close() }

// unfitReason returns why a file cannot be a plugin, "" if it can.
func unfitReason(info fs.FileInfo) string {
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

// errReplaced says that the file of the running program is not the file that was started.
var errReplaced = errors.New("the program was replaced while it runs")

func openError(path string, err error) error {
	switch {
	case errors.Is(err, errReplaced):
		return failure.New(failure.PluginInvalid, "plugin %s cannot be started: %w", path, err).
			WithHint("pause the session and resume it: the new program continues it")
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.ProviderMissing, "plugin %s does not exist: %w", path, err).
			WithHint("install it again, or see `%s`", failure.Next("plugins", "list"))
	case errors.Is(err, fs.ErrPermission):
		return failure.New(failure.PluginInvalid, "plugin %s cannot be read: %w", path, err).
			WithHint("chmod u+rx %s", path)
	}
	return failure.New(failure.PluginInvalid, "open plugin %s: %w", path, err)
}
