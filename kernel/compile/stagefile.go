package compile

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// defaultPrompts are the prompt files to try after those of the key prompt, in order.
var defaultPrompts = []string{"prompts/prompt.md", "prompt.md"}

// findPrompt returns the path of a stage's prompt file for the plan. It returns "" and reports a fault if there is
// none. The use of another file than the named one causes a warning.
func (c *compiler) findPrompt(s *sources.Stage) string {
	if s.PromptPath != "" {
		return s.PromptPath
	}
	wanted := promptFiles(s.Prompt)
	files := slices.Concat(wanted, defaultPrompts)
	for i, file := range files {
		if s.PromptPath = c.stagePath(s.Dir, file); s.PromptPath == "" {
			continue
		}
		if s.Prompt != "" && i >= len(wanted) {
			s.PromptAt.Warnf(yamldoc.CodeFallback, "correct the path or remove the key", "prompt %q does not exist, %s is used", s.Prompt, file)
		}
		return s.PromptPath
	}
	s.PromptAt.Errorf(yamldoc.CodePrompt, "write "+path.Join(c.Display(s.Dir.Path), "prompt.md")+" or set prompt:",
		"stage %q has no prompt file; looked for %s", s.Dir.Name, strings.Join(files, ", "))
	return ""
}

// promptFiles returns the files that the key prompt may mean, in order. A name without a slash is also searched in
// prompts/; the extension is optional.
func promptFiles(prompt string) []string {
	if prompt == "" {
		return nil
	}
	if filepath.IsAbs(prompt) {
		return []string{prompt}
	}
	name := strings.TrimPrefix(prompt, "./")
	files := []string{name}
	if !strings.HasSuffix(name, ".md") {
		files = []string{name + ".md", name}
	}
	if !strings.Contains(name, "/") {
		files = append(files, path.Join("prompts", files[0]))
	}
	return files
}

// stagePath returns the path of a stage's file for the plan; "" if the file does not exist. A file of a library stage
// must be inside the stage's directory, which is added to the stages to copy.
func (c *compiler) stagePath(dir sources.StageDir, file string) string {
	absolute := file
	switch {
	case filepath.IsAbs(file):
	case dir.Library:
		if file = path.Join(dir.Path, file); !strings.HasPrefix(file, dir.Path+"/") || !sources.IsLibraryFile(c.Library, file) {
			return ""
		}
		c.library = append(c.library, dir.Path)
		return filepath.ToSlash(filepath.Join(LibraryDir(c.Session), file))
	default:
		absolute = filepath.Join(dir.Path, file)
	}
	if !sources.IsFile(absolute) {
		return ""
	}
	return c.Display(absolute)
}

// readBesidePipeline is the [sources.FileReader] for the directory of the pipeline file.
func (c *compiler) readBesidePipeline(name string) (data []byte, shown, problem string) {
	if c.pipelineDir == "" {
		return nil, name, "a shipped pipeline has no files in its directory"
	}
	return c.readFrom(c.pipelineDir, name)
}

func (c *compiler) readFrom(dir, name string) (data []byte, shown, problem string) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, problem = yamldoc.ReadFile(name)
	return data, c.Display(name), problem
}

// stageReader returns the [sources.FileReader] for the directory of a stage.
func (c *compiler) stageReader(dir sources.StageDir) sources.FileReader {
	return func(name string) (data []byte, shown, problem string) {
		if !dir.Library {
			return c.readFrom(dir.Path, name)
		}
		file := path.Join(dir.Path, name)
		if !strings.HasPrefix(file, dir.Path+"/") {
			return nil, sources.LibraryPrefix + file, "the file is outside of the stage"
		}
		data, problem = c.ReadLibrary(file)
		return data, sources.LibraryPrefix + file, problem
	}
}

// lookupStage loads a node's stage, once for each directory. It returns nil and reports a fault if the stage does
// not exist or is not usable.
func (c *compiler) lookupStage(name string, at dialect.Location) *sources.Stage {
	dir, err := c.FindStage(name, c.pipelineDir)
	var missing *sources.NotFoundError
	if errors.As(err, &missing) {
		at.Errorf(yamldoc.CodeStage, missing.Hint(), "unknown stage %q", name)
		return nil
	}
	return c.cachedStage(dir)
}

// cachedStage returns the stage in a directory; nil if it is not usable.
func (c *compiler) cachedStage(dir sources.StageDir) *sources.Stage {
	s, known := c.stages[dir]
	if !known {
		s = c.loadStage(dir)
		c.stages[dir] = s
	}
	return s
}

// loadStage reads a stage's stage.yaml. It returns nil and reports a fault if the file is not usable.
func (c *compiler) loadStage(dir sources.StageDir) *sources.Stage {
	data, problem := c.readStageFile(dir)
	d := c.document(c.StageFile(dir))
	if problem != "" {
		d.Errorf(dialect.FileStart, yamldoc.CodeRead, "", "%s", problem)
		return nil
	}
	m, ok := dialect.Parse(d, data)
	if !ok {
		return nil
	}
	s := sources.NewStage(dir, m, data)
	s.CheckWraps()
	s.Artifact = sources.ReadArtifact(m, c.stageReader(dir))
	return s
}

func (c *compiler) readStageFile(dir sources.StageDir) (data []byte, problem string) {
	if !dir.Library {
		return yamldoc.ReadFile(filepath.Join(dir.Path, "stage.yaml"))
	}
	return c.ReadLibrary(path.Join(dir.Path, "stage.yaml"))
}
