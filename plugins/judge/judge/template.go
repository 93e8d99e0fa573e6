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

// promptFile is the name of a judge's prompt in the directories where one is looked for.
const promptFile = "judge.md"

// template reads the judge's prompt template, without newlines at its end.
func (s *Strategy) template(c settings, workDir string) (string, error) {
	places := s.places(c, workDir)
	var searched []string
	for _, path := range places {
		text, err := os.ReadFile(path)
		if err != nil {
			searched = append(searched, unread(path, err))
			continue
		}
		if template := strings.TrimRight(string(text), "\n"); strings.TrimSpace(template) != "" {
			return template, nil
		}
		searched = append(searched, path+" (empty)")
	}
	return "", failure.New(failure.ConfigInvalid, "judge prompt not found, looked for %s", strings.Join(searched, ", ")).
		WithHint("write %s, or name another file in termination.judge.prompt or JUDGE_PROMPT_PATH", places[len(places)-1])
}

// places are the files that may hold the template, the best first. A file that was named is the only one.
func (s *Strategy) places(c settings, workDir string) []string {
	if c.Judge.Prompt != "" {
		return []string{s.resolve(workDir, c.Judge.Prompt)}
	}
	var dirs []string
	if config := s.userConfig(); config != "" {
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

// userConfig is ~/.config on every system, "" if the environment does not say where that is.
func (s *Strategy) userConfig() string {
	if dir := s.getenv(envConfigHome); filepath.IsAbs(dir) {
		return dir
	}
	if home := s.getenv(envHome); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

// resolve makes a path absolute, from the home directory or the work directory.
func (s *Strategy) resolve(workDir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && s.getenv(envHome) != "" {
		return filepath.Join(s.getenv(envHome), rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workDir, path)
}

// unread is a path with the reason why it was passed over, unless it simply does not exist.
func unread(path string, err error) string {
	var reason *fs.PathError
	if errors.Is(err, fs.ErrNotExist) || !errors.As(err, &reason) {
		return path
	}
	return fmt.Sprintf("%s (%v)", path, reason.Err)
}
