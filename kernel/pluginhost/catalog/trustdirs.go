package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
)

// ConfigInProject reports whether the user's configuration directory lies inside the project, as it does where
// XDG_CONFIG_HOME leads there: what it holds may have come with the repository and is not the user's word.
// A project that holds the user's home directory is not meant. The directory need not exist.
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

// TrustFunc answers whether the user trusts a directory. Where the file that says so lies inside the project
// nothing is trusted, or a project could vouch for itself.
func TrustFunc(store trust.Store, project, home string) func(dir string) (bool, error) {
	if ConfigInProject(store.Dir, project, home) {
		return func(string) (bool, error) { return false, nil }
	}
	return store.IsTrusted
}
