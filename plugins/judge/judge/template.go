package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// promptFile is the name of a judge's prompt in the directories that are searched.
const promptFile = "judge.md"

// readTemplate returns the judge's prompt template, without trailing newlines.
func (s *Strategy) readTemplate(c settings, workDir string) (string, error) {
	paths := s.templatePaths(c, workDir)
	var searched []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			searched = append(searched, describeSkipped(path, err))
			continue
		}
		if template := strings.TrimRight(string(text), "\n"); strings.TrimSpace(template) != "" {
			return template, nil
		}
		searched = append(searched, path+" (empty)")
	}
	return "", failure.New(failure.ConfigInvalid, "judge prompt not found, looked for %s", strings.Join(searched, ", ")).
		WithHint("write %s, or name another file in termination.judge.prompt or JUDGE_PROMPT_PATH", paths[len(paths)-1])
}

// templatePaths returns the files that may hold the template, in order of preference. A configured file is the only
// candidate.
func (s *Strategy) templatePaths(c settings, workDir string) []string {
	if c.Judge.Prompt != "" {
		return []string{s.resolvePath(workDir, c.Judge.Prompt)}
	}
	var dirs []string
	if config := s.userConfigDir(); config != "" {
		dirs = append(dirs, filepath.Join(config, "agent-pipelines", "prompts"))
	}
	if root := s.getenv(envRoot); root != "" && filepath.Clean(root) != filepath.Clean(workDir) {
		dirs = append(dirs, filepath.Join(root, "scripts", "prompts"))
	}
	dirs = append(dirs, filepath.Join(workDir, "scripts", "prompts"))
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], promptFile)
	}
	return dirs
}

// userConfigDir returns $XDG_CONFIG_HOME if it is absolute, else ~/.config, also on macOS. It is "" without HOME.
func (s *Strategy) userConfigDir() string {
	if dir := s.getenv(envConfigHome); filepath.IsAbs(dir) {
		return dir
	}
	if home := s.getenv(envHome); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

// resolvePath returns an absolute path: it resolves ~/ against the home directory, other relative paths against the
// work directory.
func (s *Strategy) resolvePath(workDir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && s.getenv(envHome) != "" {
		return filepath.Join(s.getenv(envHome), rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workDir, path)
}

// describeSkipped returns a path with the reason why it was skipped, unless the file does not exist.
func describeSkipped(path string, err error) string {
	var reason *fs.PathError
	if errors.Is(err, fs.ErrNotExist) || !errors.As(err, &reason) {
		return path
	}
	return fmt.Sprintf("%s (%v)", path, reason.Err)
}
