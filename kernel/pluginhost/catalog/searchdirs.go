package catalog

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DirVariable is an environment variable with a list of directories, separated as in PATH.
const DirVariable = "AGENT_PIPELINES_PLUGIN_DIR"

// Source is the origin of a plugin's directory.
type Source string

// The sources, in the order of the search.
const (
	FromFlag        Source = "--plugin-dir"
	FromEnvironment Source = DirVariable
	FromConfig      Source = "user configuration"
	FromExecutable  Source = "beside the program"
	FromBundle      Source = "bundled"
)

// SearchDir is a directory to search.
type SearchDir struct {
	// Dir is absolute unless the working directory is unknown.
	Dir string `json:"dir"`
	// Source is the origin of the directory.
	Source Source `json:"source"`
}

// SearchOrigin holds the settings from which the directories are derived.
type SearchOrigin struct {
	// Flags are the values of --plugin-dir, in order.
	Flags []string
	// List is the value of [DirVariable].
	List string
	// ConfigDir is the user's configuration directory (~/.config/agent-pipelines), "" for none.
	ConfigDir string
	// Executable is the path of the running program, "" for none. Symbolic links are followed.
	Executable string
}

// SearchDirs returns the directories in the order of the search, without repetitions.
func SearchDirs(o SearchOrigin) []SearchDir {
	var result []SearchDir
	seen := map[string]bool{}
	add := func(source Source, dirs ...string) {
		for _, dir := range dirs {
			if dir == "" {
				continue
			}
			if abs, err := filepath.Abs(dir); err == nil {
				dir = abs
			}
			if !seen[dir] {
				seen[dir] = true
				result = append(result, SearchDir{Dir: dir, Source: source})
			}
		}
	}
	add(FromFlag, o.Flags...)
	add(FromEnvironment, filepath.SplitList(o.List)...)
	if o.ConfigDir != "" {
		add(FromConfig, filepath.Join(o.ConfigDir, "plugins"))
	}
	if o.Executable != "" {
		exe := o.Executable
		if target, err := filepath.EvalSymlinks(exe); err == nil {
			exe = target
		}
		dir := filepath.Dir(exe)
		add(FromExecutable, filepath.Join(dir, "plugins"), filepath.Join(dir, "..", "lib", dirName, "plugins"))
	}
	return result
}

// dirName is the name of our directory in the system's directories for configuration and cache, and beside a
// program.
const dirName = "agent-pipelines"

// CacheDir returns the user's cache directory, ~/.cache/agent-pipelines on Linux.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, dirName), err
}

// StateDir returns the user's directory for data that must not be lost on every system: $XDG_STATE_HOME/agent-pipelines if
// that is absolute, else ~/.local/state/agent-pipelines (XDG Base Directory Specification 0.8).
func StateDir() (string, error) { return userDir("XDG_STATE_HOME", ".local", "state") }

// ConfigDir returns the user's configuration directory on every system: $XDG_CONFIG_HOME/agent-pipelines if that is
// absolute, else ~/.config/agent-pipelines.
func ConfigDir() (string, error) { return userDir("XDG_CONFIG_HOME", ".config") }

// userDir returns our directory in the one that a variable names, else in a directory below the home. Without HOME, as under
// cron, the home directory comes from the system's list of users, because an empty variable must not disable the user's
// plugins.lock.
func userDir(variable string, belowHome ...string) (string, error) {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, dirName), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home, err = registeredHome()
	}
	if err != nil {
		return "", failure.New(failure.ConfigInvalid, "find the user's directories: %w", err).WithHint("set HOME or %s", variable)
	}
	return filepath.Join(home, filepath.Join(belowHome...), dirName), nil
}

// registeredHome returns the home directory in the system's list of users.
func registeredHome() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(u.HomeDir) {
		return "", fmt.Errorf("user %s has no home directory", u.Username)
	}
	return u.HomeDir, nil
}
