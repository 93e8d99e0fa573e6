package kernel

import (
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/compile"
)

// FindStage looks for a stage of the user's by its name: in the project, whose directory "" is the current one, and in the
// engine's root, "" for none (see [WithEngineRoot]). Shipped stages are not looked through. file is its stage.yaml, relative
// to the project where it lies inside it. It opens no engine.
func FindStage(project, engineRoot, name string) (file string, found bool) {
	project, err := filepath.Abs(project)
	if err != nil {
		return "", false
	}
	roots := compile.Roots{Project: project, Engine: engineRoot}
	dir, err := roots.FindStage(name, "")
	if err != nil {
		return "", false
	}
	return roots.Display(filepath.Join(dir.Path, "stage.yaml")), true
}
