package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Search configures a search for plugins. It only reads; nothing is executed.
type Search struct {
	// Dirs are searched in order.
	Dirs []SearchDir
	// Project is the directory of the run. Directories inside it are refused without the user's consent, see
	// [Search.FromProject], because a repository must not bring its own plugins. "" for none.
	Project string
	// Trusted reports whether the user trusts a directory; nil trusts none.
	Trusted func(dir string) (bool, error)
	// Bundled are the plugins that the running program can serve, considered after all directories.
	Bundled []Bundled
	// BundledOff completes the sentence "bundled plugins are turned off by ...". "" leaves them enabled.
	BundledOff string
	// Program is the path of the running program, for bundled plugins.
	Program string
	// Home is the user's home directory. If the project contains Home, the user's configuration does not count as part
	// of the project. It is "" if unknown.
	Home string
}

// Ignored is a file, directory or bundled plugin that the search does not use.
type Ignored struct {
	// Path is the file or directory, or the command line of a bundled plugin.
	Path string `json:"path"`
	// Reason completes the sentence "ignored, because it is ...".
	Reason string `json:"reason"`
}

// SearchResult is the result of a search.
type SearchResult struct {
	// Plugins are ordered by directory, then by name.
	Plugins []Plugin `json:"plugins"`
	// Ignored are in the order of the search.
	Ignored []Ignored `json:"ignored"`
	// Off are the disabled bundled plugins, OffBy is the setting that disables them.
	Off   []Plugin `json:"-"`
	OffBy string   `json:"-"`
	// Searched are the searched directories, whether they exist or not.
	Searched []SearchDir `json:"searched"`
}

// Find searches the directories.
func (s Search) Find() SearchResult {
	f := SearchResult{Searched: s.Dirs}
	first := map[string]string{}
	for _, d := range s.Dirs {
		for _, path := range s.list(d, &f) {
			name, reason := inspectFile(path)
			if earlier, taken := first[name]; reason == "" && taken {
				reason = "shadowed by " + earlier
			}
			if reason != "" {
				f.addIgnored(path, reason)
				continue
			}
			first[name] = path
			f.Plugins = append(f.Plugins, Plugin{Name: name, Path: path, Source: d.Source})
		}
	}
	s.addBundled(&f, first)
	return f
}

func (f *SearchResult) addIgnored(path, reason string) {
	f.Ignored = append(f.Ignored, Ignored{Path: path, Reason: reason})
}

// list returns the files of a directory, sorted by name; none if the directory does not exist or is refused.
func (s Search) list(d SearchDir, f *SearchResult) []string {
	info, err := os.Stat(d.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if d.Source == FromFlag {
			f.addIgnored(d.Dir, "a directory that does not exist")
		}
		return nil
	case err != nil:
		f.addIgnored(d.Dir, fmt.Sprintf("unreadable: %v", err))
		return nil
	case !info.IsDir():
		f.addIgnored(d.Dir, "not a directory")
		return nil
	}
	if reason := s.refusalReason(d, info); reason != "" {
		f.addIgnored(d.Dir, reason)
		return nil
	}
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		f.addIgnored(d.Dir, fmt.Sprintf("unreadable: %v", err))
	}
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		paths = append(paths, filepath.Join(d.Dir, e.Name()))
	}
	return paths
}

// refusalReason returns why nothing in a directory may be used, "" if the directory may be used.
func (s Search) refusalReason(d SearchDir, info fs.FileInfo) string {
	if reason := Exposure(info); reason != "" {
		return "a directory that is " + reason
	}
	if s.FromProject(d) {
		return fmt.Sprintf("inside the project directory %s, which must not bring its own plugins; "+
			"name it with %s, or run `%s` if you trust it", s.Project, failure.Option("plugin_dir"), failure.Next("trust", s.Project))
	}
	return ""
}

// FromProject reports whether a directory is inside the project without the user's consent. Consent is a flag, trust, a
// program started from the project, or a configuration directory of a home in the project.
func (s Search) FromProject(d SearchDir) bool {
	// A user that runs a program from the project already trusts the project more than any plugin requires.
	if s.Project == "" || d.Source == FromFlag || d.Source == FromExecutable {
		return false
	}
	dir, err := realPath(d.Dir)
	if err != nil {
		return true
	}
	project, err := realPath(s.Project)
	if err != nil || !sandboxpolicy.Within(dir, project) {
		return err != nil
	}
	if d.Source == FromConfig && s.homeWithin(project) {
		return false
	}
	if s.Trusted == nil {
		return true
	}
	trusted, err := s.Trusted(dir)
	return err != nil || !trusted
}

func (s Search) homeWithin(project string) bool {
	if s.Home == "" {
		return false
	}
	home, err := realPath(s.Home)
	return err == nil && sandboxpolicy.Within(home, project)
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// PluginName returns the name of the plugin with this file name; ok is false for a file that is not a
// plugin.
func PluginName(file string) (name string, ok bool) {
	name, ok = strings.CutPrefix(file, Prefix)
	return name, ok && validName.MatchString(name)
}

// inspectFile returns the name of the plugin in a file, or the reason why the file is not a plugin.
func inspectFile(path string) (name, reason string) {
	name, ok := PluginName(filepath.Base(path))
	if !ok {
		return "", "not named agent-plugin-<name> (lower case letters, digits, '-' and '_')"
	}
	target, err := realPath(path)
	if err != nil {
		return name, fmt.Sprintf("unreadable: %v", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return name, fmt.Sprintf("unreadable: %v", err)
	}
	if reason := unfitReason(info); reason != "" {
		return name, reason
	}
	if reason := Exposure(info); reason != "" {
		return name, reason
	}
	if parent, err := os.Stat(filepath.Dir(target)); err == nil && target != path {
		if reason := Exposure(parent); reason != "" {
			return name, "a link into a directory that is " + reason
		}
	}
	return name, ""
}

// Exposure says why another user could have written the file or directory, "" if none could. The file must belong to
// this user or to root and must not be writable by all users.
func Exposure(info fs.FileInfo) string {
	if info.Mode().Perm()&0o002 != 0 {
		return "writable by all users (chmod o-w makes it safe)"
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("owned by user %d, neither by you nor by root", st.Uid)
	}
	return ""
}

// CheckBundled returns an error for an invalid list of bundled plugins.
func CheckBundled(bundled []Bundled) error {
	taken := map[string]bool{}
	for _, b := range bundled {
		switch {
		case !validName.MatchString(b.Name):
			return fmt.Errorf("bundled plugin %q: a name has lower case letters, digits, '-' and '_'", b.Name)
		case len(b.Args) == 0:
			return fmt.Errorf("bundled plugin %q has no arguments, by which the program selects it", b.Name)
		case taken[b.Name]:
			return fmt.Errorf("bundled plugin %q is listed twice", b.Name)
		}
		taken[b.Name] = true
	}
	return nil
}

// addBundled adds the program's own plugins whose names were not found before.
func (s Search) addBundled(f *SearchResult, first map[string]string) {
	f.OffBy = s.BundledOff
	for _, b := range s.Bundled {
		c := Plugin{Name: b.Name, Path: s.Program, Args: b.Args, Source: FromBundle}
		if b.Describe != nil {
			c.Describe = sync.OnceValues(b.Describe)
		}
		earlier, taken := first[b.Name]
		switch {
		case s.BundledOff != "":
			f.addIgnored(c.Command(), "turned off by "+s.BundledOff)
			f.Off = append(f.Off, c)
		case taken:
			f.addIgnored(c.Command(), "shadowed by "+earlier)
		default:
			f.Plugins = append(f.Plugins, c)
		}
	}
}

// ConfigInProject reports whether the user's configuration directory is inside the project, for example by
// XDG_CONFIG_HOME. Its content may then come from the repository and not from the user. A project that
// contains the home directory does not count. The directory need not exist.
func ConfigInProject(configDir, project, home string) bool {
	dir := configDir
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return Search{Project: project, Home: home}.FromProject(SearchDir{Dir: dir, Source: FromConfig})
}

// TrustFunc returns a function that reports whether the user trusts a directory. If the file of trusted
// directories is inside the project, nothing is trusted, because a project must not trust itself.
func TrustFunc(store Store, project, home string) func(dir string) (bool, error) {
	if ConfigInProject(store.Dir, project, home) {
		return func(string) (bool, error) { return false, nil }
	}
	return store.IsTrusted
}
