package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ErrInstalled is in the chain of an error that refuses to replace a plugin, or its digest in plugins.lock, without force.
var ErrInstalled = errors.New("another one is installed")

// Installer changes one user's plugin directory. A lock file makes several processes take turns.
type Installer struct {
	// Store is the user's configuration directory; its plugins/ holds the plugins.
	Store catalog.Store
	// Describe starts a plugin, asks for its description, and ends it.
	Describe func(ctx context.Context, b *catalog.Binary) (sdk.Description, error)
	// Plugins are the described plugins among whose components the new ones must be unique; nil checks nothing.
	Plugins func(ctx context.Context) ([]catalog.DescribedPlugin, error)
}

// Request selects the file to install.
type Request struct {
	// File is a plugin's binary, or a .tar.gz archive that holds one.
	File string
	// SHA256 is the expected digest of File in hex; "" accepts any.
	SHA256 string
	// Force replaces another plugin or version of the name, and another digest in plugins.lock. It also accepts components
	// with the names of other plugins' components.
	Force bool
}

// Build is one build of a plugin.
type Build struct {
	Version string `json:"version,omitempty"` // "" if unknown
	SHA256  string `json:"sha256,omitempty"`  // "" if unreadable
}

// Installation describes an installed plugin.
type Installation struct {
	// Name is the name in the plugin's description, and in its file name after agent-plugin-.
	Name string `json:"name"`
	Build
	// Path is the installed file, Lock the file with its digest.
	Path string `json:"path"`
	Lock string `json:"lock"`
	// Components are the plugin's components.
	Components []sdk.Component `json:"components"`
	// Replaced is the previous build, nil for none.
	Replaced *Build `json:"replaced,omitempty"`
	// Unchanged reports that the same file was already installed.
	Unchanged bool `json:"unchanged"`
	// Shadows is the plugin that is no longer used because of the new plugin, ShadowedBy the plugin that is used instead
	// of the new plugin; "" for none. Only [Plugin] sets them.
	Shadows    string `json:"shadows,omitempty"`
	ShadowedBy string `json:"shadowed_by,omitempty"`
}

func newInstaller(h *pluginhost.Host) Installer {
	return Installer{Store: h.UserStore(), Describe: h.Describe, Plugins: h.Plugins}
}

// Plugin installs a plugin for the user of a host, see [Installer.Install]. Hosts created later find it.
func Plugin(ctx context.Context, h *pluginhost.Host, req Request) (Installation, error) {
	if err := h.CheckConfigDir("nothing can be installed"); err != nil {
		return Installation{}, err
	}
	done, err := newInstaller(h).Install(ctx, req)
	if err != nil {
		return Installation{}, err
	}
	switch c, _ := h.FindPlugin(done.Name); c.Source {
	case catalog.FromFlag, catalog.FromEnvironment:
		done.ShadowedBy = c.Path
	case catalog.FromExecutable, catalog.FromBundle:
		done.Shadows = c.Command()
	}
	return done, nil
}

// Dir returns the user's plugin directory.
func (in Installer) Dir() string { return filepath.Join(in.Store.Dir, "plugins") }

func (in Installer) path(name string) string { return filepath.Join(in.Dir(), catalog.Prefix+name) }

// Install puts a plugin in place and its digest into plugins.lock. On an error nothing has changed, unless
// only the final sync failed. Most errors are of type [failure.Error]; if ctx ends, the error contains its cause.
func (in Installer) Install(ctx context.Context, req Request) (Installation, error) {
	f, info, err := openRegular(req.File)
	if err != nil {
		return Installation{}, failure.New(failure.PluginInvalid, "install %s: %w", req.File, err).
			WithHint("give the path of a plugin's binary, or of the archive that it was published in")
	}
	defer f.Close()
	if err := checkDigest(f, info, req.SHA256); err != nil {
		return Installation{}, err
	}
	release, err := in.lockDir(ctx)
	if err != nil {
		return Installation{}, err
	}
	defer release()
	dir, err := os.MkdirTemp(in.Dir(), stagePrefix+"*")
	if err != nil {
		return Installation{}, failure.New(failure.PluginInvalid, "install %s: %w", req.File, err).WithHint("make sure that you can write into %s", in.Dir())
	}
	defer os.RemoveAll(dir)
	s, err := stageFile(f, info.Size(), dir)
	if err != nil {
		return Installation{}, archiveError(req.File, err)
	}
	return in.installStaged(ctx, req, s)
}

// stagePrefix begins the names of the directories of staged plugins.
const stagePrefix = ".install-"

// lockDir waits for the lock, makes the plugin directory and removes the remains of killed installations.
func (in Installer) lockDir(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(in.Dir(), 0o755); err != nil {
		return nil, failure.New(failure.PluginInvalid, "make the plugin directory: %w", err)
	}
	info, err := os.Stat(in.Dir())
	if err != nil {
		return nil, failure.New(failure.PluginInvalid, "inspect the plugin directory: %w", err)
	}
	if reason := catalog.Exposure(info); reason != "" {
		return nil, failure.New(failure.PluginUntrusted, "the plugin directory %s is %s: nothing in it would be used", in.Dir(), reason).
			WithHint("make the directory writable by you only, then install again")
	}
	if release, err = in.Store.Guard(ctx, ".install.lock"); err != nil {
		return nil, failure.From(err)
	}
	left, err := filepath.Glob(filepath.Join(in.Dir(), stagePrefix+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// openRegular opens a regular file; it refuses a directory and a pipe, which might never end.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// checkDigest compares the digest of the file with the digest that the user expects.
func checkDigest(f *os.File, info fs.FileInfo, want string) error {
	if want == "" {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return failure.New(failure.PluginInvalid, "install %s: %w", f.Name(), err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if !strings.EqualFold(sum, want) {
		return failure.New(failure.PluginUntrusted, "%s has sha256 %s, but you expected %s", f.Name(), sum, strings.ToLower(want)).
			WithHint("download it again, and compare with the digest that its author publishes; nothing was installed")
	}
	return nil
}

// stagedPlugin is a copied plugin that is not described and installed yet.
type stagedPlugin struct {
	path  string // the copy
	shown string // the file of the user, for messages
}

// stageFile copies the plugin, out of its archive if there is one, and makes it executable.
func stageFile(f *os.File, size int64, dir string) (s stagedPlugin, err error) {
	var magic [2]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return s, err
	}
	s.shown = f.Name()
	switch end := filepath.Ext(f.Name()); {
	case magic == [...]byte{0x1f, 0x8b}:
		var member string
		s.path, member, err = unpackPlugin(f, dir, defaultLimits)
		s.shown += ":" + member
		return s, err
	case slices.Contains([]string{".tar", ".gz", ".tgz", ".zip", ".xz", ".bz2", ".zst", ".7z"}, strings.ToLower(end)):
		return s, fmt.Errorf("its suffix is %s, but its content is not that of a .tar.gz archive", end)
	case size > defaultLimits.binary:
		return s, fmt.Errorf("it is larger than %d MiB", defaultLimits.binary>>20)
	}
	s.path = filepath.Join(dir, catalog.Prefix+"new")
	return s, writeProgram(s.path, f)
}

func archiveError(file string, err error) error {
	return failure.New(failure.PluginInvalid, "install %s: %w", file, err).
		WithHint("an archive (.tar.gz or .tgz) holds one file called %s<name>; nothing was installed", catalog.Prefix)
}

// installStaged describes the staged plugin, and puts it in place if nothing forbids that.
func (in Installer) installStaged(ctx context.Context, req Request, s stagedPlugin) (Installation, error) {
	b, err := catalog.NewVerifier(catalog.NewCache("")).Open(s.path)
	if err != nil {
		return Installation{}, s.userError(err)
	}
	defer b.Close()
	d, err := in.Describe(ctx, b)
	if ctx.Err() != nil {
		return Installation{}, context.Cause(ctx)
	}
	if err != nil {
		return Installation{}, s.userError(err)
	}
	r := Installation{
		Name: d.Name, Build: Build{d.Version, b.SHA256}, Path: in.path(d.Name), Lock: in.Store.LockPath(), Components: d.Components,
	}
	if r.Replaced, err = in.installedBuild(ctx, r.Path); err != nil {
		return Installation{}, err
	}
	r.Unchanged = r.Replaced != nil && r.Replaced.SHA256 == b.SHA256
	if !req.Force {
		if err := in.checkReplace(r); err != nil {
			return Installation{}, err
		}
		if err := in.checkNames(ctx, r); err != nil {
			return Installation{}, err
		}
	}
	if r.Unchanged {
		r.Replaced = nil
	}
	return r, in.putInPlace(s.path, r)
}

// userError replaces the staged file in an error by the user's file.
func (s stagedPlugin) userError(err error) error {
	f := *failure.From(err)
	names := strings.NewReplacer(s.path, s.shown)
	f.Message, f.Hint, f.Detail = names.Replace(f.Message), names.Replace(f.Hint), names.Replace(f.Detail)
	f.Message = "nothing was installed: " + f.Message
	return &f
}

// installedBuild returns the build at the plugin's path, nil for none.
func (in Installer) installedBuild(ctx context.Context, path string) (*Build, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, failure.New(failure.PluginInvalid, "inspect %s: %w", path, err)
	case info.IsDir():
		return nil, failure.New(failure.PluginInvalid, "%s is a directory", path).WithHint("remove it, then install again")
	}
	b, err := catalog.NewVerifier(catalog.NewCache("")).Open(path)
	if err != nil {
		return &Build{}, nil // an unusable file may be replaced like any other
	}
	defer b.Close()
	d, err := in.Describe(ctx, b)
	if err != nil {
		d = sdk.Description{} // the version stays unknown
	}
	return &Build{d.Version, b.SHA256}, nil
}

// checkReplace refuses a change that only force may make.
func (in Installer) checkReplace(r Installation) error {
	if old := r.Replaced; old != nil && !r.Unchanged {
		return replaceRefusal("%s is installed already: version %s (sha256 %s); the new one has version %s (sha256 %s)",
			r.Path, cmp.Or(old.Version, "unknown"), cmp.Or(old.SHA256, "unknown"), r.Version, r.SHA256)
	}
	lock, err := in.Store.Lock()
	if err != nil {
		return err
	}
	if want, locked := lock.Digest(catalog.Prefix+r.Name, catalog.Platform()); locked && want != r.SHA256 {
		return replaceRefusal("%s locks %s%s to another file: sha256 %s; the new one, version %s, has %s", lock.Path, catalog.Prefix, r.Name, want, r.Version, r.SHA256)
	}
	return nil
}

// checkNames refuses components that would hide those of another plugin, or be hidden by them.
func (in Installer) checkNames(ctx context.Context, r Installation) error {
	if in.Plugins == nil || r.Unchanged {
		return nil
	}
	others, err := in.Plugins(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Name == r.Name {
			continue
		}
		for _, c := range r.Components {
			if slices.ContainsFunc(other.Description.Components, func(o sdk.Component) bool { return catalog.Clash(o, c) }) {
				kind := strings.ReplaceAll(string(c.Kind), "_", " ")
				f := failure.New(failure.PluginUntrusted, "%s serves the %s %q, whose name or alias %s serves too: one of them would be hidden", r.Name, kind, c.Name, other.Command()).
					WithHint("ask its author for another name; --force accepts it; nothing was changed")
				f.Cause = ErrInstalled
				return f
			}
		}
	}
	return nil
}

func replaceRefusal(format string, args ...any) error {
	f := failure.New(failure.PluginUntrusted, format, args...).WithHint("--force replaces it; nothing was changed")
	f.Cause = ErrInstalled
	return f
}

// putInPlace locks the plugin and moves it to its path. The lock comes first, because it is more likely to
// fail.
func (in Installer) putInPlace(from string, r Installation) error {
	file := catalog.Prefix + r.Name
	var before string
	lock := func(sum string) error {
		return in.Store.ChangeLock(in.Store.LockPath(), func(l catalog.Lock) {
			before, _ = l.Digest(file, catalog.Platform())
			l.Set(file, catalog.Platform(), sum)
		})
	}
	if err := lock(r.SHA256); err != nil {
		return failure.New(failure.PluginInvalid, "lock %s: %w", file, err).WithHint("nothing was installed")
	}
	if r.Unchanged {
		return nil
	}
	if err := os.Rename(from, r.Path); err != nil {
		return failure.New(failure.PluginInvalid, "put %s in place: %w", r.Path, errors.Join(err, lock(before))).WithHint("nothing was installed")
	}
	return syncDir(in.Dir())
}

// syncDir makes a rename in the directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
