package signing

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxFile bounds a file of a folder, in bytes.
const maxFile = 1 << 20

// folder is a directory in the user's state directory that only the user may read.
type folder struct {
	dir   string // "" if err is set
	holds string // its content, for errors: "your keys"
	err   error  // why there is no directory
}

// read reads a file of the directory. It refuses a file or a directory that other users may open.
func (f folder) read(name string) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	path := filepath.Join(f.dir, name)
	file, err := os.Open(path)
	if err != nil {
		return nil, f.accessError("read", err)
	}
	defer file.Close()
	for checked, mode := range map[string]fs.FileMode{f.dir: 0o700, path: 0o600} {
		info, err := os.Stat(checked)
		if err != nil {
			return nil, f.accessError("read", err)
		}
		if got := info.Mode().Perm(); got&0o077 != 0 {
			return nil, failure.New(failure.ConfigInvalid, "other users may open %s: its mode is %#o, want %#o", checked, got, mode).
				WithHint("`chmod %o %s`", mode, checked)
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, f.accessError("read", err)
	}
	return text, nil
}

// write writes a file of the directory under a temporary name, which publish then gives its name: [os.Rename] replaces
// an existing file, [os.Link] keeps it.
func (f folder) write(name string, text []byte, publish func(from, to string) error) error {
	if f.err != nil {
		return f.err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return f.accessError("write", err)
	}
	file, err := os.CreateTemp(f.dir, ".new-*") // mode 0600
	if err != nil {
		return f.accessError("write", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = publish(file.Name(), filepath.Join(f.dir, name))
	}
	if err == nil { // the name must be on the disk before the lines that follow, which may lie on another one
		err = syncDir(f.dir)
	}
	if err != nil {
		return f.accessError("write", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// accessError is the error of a file of the directory. Its hint names the remedy.
func (f folder) accessError(verb string, err error) error {
	if hint, system := failure.SystemHint(err); system {
		return failure.New(failure.StateCorrupt, "%s %s: %w", verb, f.holds, err).WithHint("%s; the directory is %s", hint, f.dir)
	}
	return failure.New(failure.ConfigInvalid, "%s %s: %w", verb, f.holds, err).
		WithHint("`chmod -R u+rwX %s` lets this user read and write it, if the user owns it; else set XDG_STATE_HOME to a directory of this user", f.dir)
}
