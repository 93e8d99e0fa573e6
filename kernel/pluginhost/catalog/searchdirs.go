package catalog

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DirVariable holds a list of directories, separated as in PATH.
const DirVariable = "AGENT_PIPELINES_PLUGIN_DIR"

// Source says who named a directory, or that a plugin lies in none.
type Source string

// The sources, in the order in which they are searched.
const (
	FromFlag        Source = "--plugin-dir"
	FromEnvironment Source = DirVariable
	FromConfig      Source = "user configuration"
	FromExecutable  Source = "beside the program"
	FromBundle      Source = "bundled"
)

// Place is a directory to search.
type SearchDir struct {
	// Dir is the directory, absolute unless the working directory is unknown.
	Dir string `json:"dir"`
	// Source says who named it.
	Source Source `json:"source"`
}

// SearchOrigin is where the places come from.
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

// SearchDirs are the directories in the order of the search, without repetitions.
func SearchDirs(o SearchOrigin) []SearchDir {
	var places []SearchDir
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
				places = append(places, SearchDir{Dir: dir, Source: source})
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
		add(FromExecutable, filepath.Join(dir, "plugins"), filepath.Join(dir, "..", "lib", "agent-pipelines", "plugins"))
	}
	return places
}

// ConfigDir is the user's configuration directory on every system: $XDG_CONFIG_HOME/agent-pipelines
// where that is an absolute path, else ~/.config/agent-pipelines. Without HOME, as under cron or in a
// container, the home directory is the one that the system has for the user: what plugins.lock forbids
// there must not become allowed by an empty variable.
func ConfigDir() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-pipelines"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home, err = registeredHome()
	}
	if err != nil {
		return "", failure.New(failure.ConfigInvalid, "find the user's configuration: %w", err).
			WithHint("set HOME or XDG_CONFIG_HOME")
	}
	return filepath.Join(home, ".config", "agent-pipelines"), nil
}

// registeredHome is the home directory in the system's list of users.
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
