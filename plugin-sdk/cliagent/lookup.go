package cliagent

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Lookup finds an agent's executable. The command is either an absolute path or a bare name that is
// searched in the PATH of env (see [Environ]), of which only absolute entries count, so that the
// project being worked on cannot put a program in the agent's place.
//
// Errors are *failure.Error: config_invalid for a relative path, provider_missing, with install as the
// line to type, where there is no such program.
func Lookup(agent, command, install string, env []string) (string, error) {
	switch {
	case filepath.IsAbs(command):
		if err := executable(command); err != nil {
			return "", failure.New(failure.ProviderMissing, "%s CLI not found: %w", agent, err).
				WithHint("correct command in the configuration of provider %s (config.yaml), or leave it out and install the CLI with: %s", agent, install)
		}
		return command, nil
	case command == "" || command != filepath.Base(command):
		return "", failure.New(failure.ConfigInvalid, "the %s command %q is neither a name nor an absolute path", agent, command).
			WithHint("write the program's name alone, or its whole path")
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if path := filepath.Join(dir, command); filepath.IsAbs(dir) && executable(path) == nil {
			return path, nil
		}
	}
	return "", missing(agent, install, "%s CLI not found: no program %q in PATH", agent, command)
}

func missing(agent, install, format string, args ...any) error {
	return failure.New(failure.ProviderMissing, format, args...).
		WithHint("install it with: %s; or set command in the configuration of provider %s (config.yaml) to its path", install, agent)
}

// executable is nil for a file that may be run by somebody.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "run", Path: path, Err: fs.ErrInvalid}
	case info.Mode()&0o111 == 0:
		return &fs.PathError{Op: "run", Path: path, Err: fs.ErrPermission}
	}
	return nil
}
