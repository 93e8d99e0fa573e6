package cliagent

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Lookup finds an agent's executable. The command is an absolute path or a bare name, which is
// searched in the absolute entries of PATH in env (see [Environ]). Relative entries are ignored, so
// that the project cannot replace the agent.
//
// Errors are *failure.Error: config_invalid for a relative path or an empty command, and provider_missing
// for a missing program. The hint of provider_missing contains install, the command that installs the program.
func Lookup(agent, command, install string, env []string) (string, error) {
	switch {
	case filepath.IsAbs(command):
		if err := checkExecutable(command); err != nil {
			return "", failure.New(failure.ProviderMissing, "%s CLI not found: %w", agent, err).
				WithHint("correct command in the configuration of provider %s (config.yaml), or leave it out and install the CLI with: %s", agent, install)
		}
		return command, nil
	case command == "" || command != filepath.Base(command):
		return "", failure.New(failure.ConfigInvalid, "the %s command %q is neither a name nor an absolute path", agent, command).
			WithHint("write the program's name alone, or its whole path")
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if path := filepath.Join(dir, command); filepath.IsAbs(dir) && checkExecutable(path) == nil {
			return path, nil
		}
	}
	return "", missingProgram(agent, install, "%s CLI not found: no program %q in PATH", agent, command)
}

func missingProgram(agent, install, format string, args ...any) error {
	return failure.New(failure.ProviderMissing, format, args...).
		WithHint("install it with: %s; or set command in the configuration of provider %s (config.yaml) to its path", install, agent)
}

// checkExecutable returns an error if path is not a file with an execute permission.
func checkExecutable(path string) error {
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
