package compile

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
)

// Roots are the places where pipelines and stages are looked up. The zero value finds nothing.
type Roots struct {
	// Project is the absolute path of the project that the run works on.
	Project string
	// Engine is $AGENT_PIPELINES_ROOT: a folder with scripts/pipelines and scripts/stages. A
	// relative path is taken from the project; may be empty.
	Engine string
	// Library holds the shipped stages as stages/<name>/stage.yaml and pipelines as pipelines/<name>.yaml; may be nil.
	Library fs.FS
}

// NotFoundError says that a pipeline or stage is in none of the places.
type NotFoundError struct {
	What     string   // "pipeline" or "stage"
	Name     string   // as asked for
	Searched []string // the paths that were tried, in order
	Nearest  string   // the most similar name that exists, may be empty
}

// Error says what was not found and where it was looked for.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %q not found", e.What, e.Name)
}

// Hint is the nearest name and the places that were searched.
func (e *NotFoundError) Hint() string {
	var hints []string
	if e.Nearest != "" {
		hints = append(hints, fmt.Sprintf("did you mean %q?", e.Nearest))
	}
	if len(e.Searched) > 0 {
		hints = append(hints, "searched "+strings.Join(e.Searched, ", "))
	} else {
		hints = append(hints, "a "+e.What+"'s name is not empty and holds no slash")
	}
	return strings.Join(hints, " ")
}

// FindPipeline returns the absolute path of a pipeline file, given its path or its name. The first
// of these wins, each as it is and with .yaml behind it (a path only as it is): the path itself from
// the project, .claude/pipelines, $AGENT_PIPELINES_ROOT/scripts/pipelines, scripts/pipelines; then a shipped
// one by its name, whose path begins with "library:" and is for [Roots.ReadPipeline]. The error is a
// [*NotFoundError].
func (r Roots) FindPipeline(name string) (string, error) { return r.findPipeline(name, "") }

// findPipeline is [Roots.FindPipeline] for a name that a pipeline file in the folder beside says: that
// folder comes behind .claude/pipelines.
func (r Roots) findPipeline(name, beside string) (string, error) {
	missing := &NotFoundError{What: "pipeline", Name: name}
	if name != "" {
		for _, file := range r.pipelineFiles(name, beside) {
			if isFile(file) {
				return file, nil
			}
			missing.Searched = append(missing.Searched, r.display(file))
		}
		if r.Library != nil && !strings.Contains(name, "/") {
			if file := path.Join("pipelines", strings.TrimSuffix(name, ".yaml")+".yaml"); isLibraryFile(r.Library, file) {
				return libraryPrefix + file, nil
			}
			missing.Searched = append(missing.Searched, "the shipped pipelines")
		}
	}
	missing.Nearest = nearest.Name(strings.TrimSuffix(name, ".yaml"), r.pipelineNames(beside))
	return "", missing
}

func (r Roots) pipelineFiles(name, beside string) []string {
	if filepath.IsAbs(name) {
		return []string{filepath.Clean(name)}
	}
	files := []string{filepath.Join(r.Project, name)}
	for _, dir := range r.pipelineDirs(beside) {
		for _, file := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".yaml")} {
			if !slices.Contains(files, file) { // two of the folders may be one
				files = append(files, file)
			}
		}
	}
	return files
}

// libraryPrefix stands before the path of a file of the library, in plans and messages, too.
const libraryPrefix = "library:"

// ReadPipeline reads the pipeline file at a path that [Roots.FindPipeline] has returned; problem says in words why it
// cannot be read.
func (r Roots) ReadPipeline(file string) (data []byte, problem string) {
	name, ok := strings.CutPrefix(file, libraryPrefix)
	if !ok {
		return diagnostic.ReadFile(file)
	}
	return r.readLibrary(name)
}

// readLibrary reads a file of the library.
func (r Roots) readLibrary(name string) (data []byte, problem string) {
	if r.Library == nil {
		return nil, "this program ships nothing"
	}
	f, err := r.Library.Open(name)
	if err != nil {
		return nil, diagnostic.Problem(err)
	}
	defer closeQuietly(f)
	return diagnostic.Read(f)
}

// absolutePath is the path of a pipeline file from the project; that of a shipped one stays as it is.
func (r Roots) absolutePath(file string) string {
	if filepath.IsAbs(file) || strings.HasPrefix(file, libraryPrefix) {
		return file
	}
	return filepath.Join(r.Project, file)
}

// pipelineFolder is the folder of a pipeline file, "" for a shipped one, beside which nothing of the user's lies.
func pipelineFolder(file string) string {
	if strings.HasPrefix(file, libraryPrefix) {
		return ""
	}
	return filepath.Dir(file)
}

// Pipelines lists the names of the pipelines that [Roots.FindPipeline] finds, sorted.
func (r Roots) Pipelines() []string { return r.pipelineNames("") }

func (r Roots) pipelineNames(beside string) []string {
	var names []string
	for _, dir := range r.pipelineDirs(beside) {
		entries, _ := os.ReadDir(dir) // a folder that does not exist holds no pipelines
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && !e.IsDir() {
				names = append(names, name)
			}
		}
	}
	if r.Library != nil {
		entries, _ := fs.ReadDir(r.Library, "pipelines") // a library without pipelines has none
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
		}
	}
	return sortedUnique(names)
}

func (r Roots) pipelineDirs(beside string) []string {
	dirs := []string{filepath.Join(r.Project, ".claude", "pipelines")}
	if beside != "" {
		dirs = append(dirs, beside)
	}
	for _, scripts := range r.scriptDirs() {
		dirs = append(dirs, filepath.Join(scripts, "pipelines"))
	}
	return dirs
}

// scriptDirs are the scripts folders of the engine and the project, once if they are the same.
func (r Roots) scriptDirs() []string {
	own := filepath.Join(r.Project, "scripts")
	if r.Engine == "" {
		return []string{own}
	}
	engine := r.Engine
	if !filepath.IsAbs(engine) {
		engine = filepath.Join(r.Project, engine)
	}
	if engine = filepath.Join(engine, "scripts"); engine != own {
		return []string{engine, own}
	}
	return []string{own}
}

// StageDir is where a stage lies: a folder on disk or in the library.
type StageDir struct {
	Name    string
	Path    string // absolute on disk, slash-separated from the root of the library
	Library bool
}

// FindStage returns the folder that holds a stage's stage.yaml. The first of these wins:
// .claude/stages/<name>, stages/<name> beside the pipeline (not for pipelineDir ""),
// $AGENT_PIPELINES_ROOT/scripts/stages/<name>, scripts/stages/<name>, the library. The error is a
// [*NotFoundError].
func (r Roots) FindStage(name, pipelineDir string) (StageDir, error) {
	missing := &NotFoundError{What: "stage", Name: name}
	if nameFault(name) == "" {
		for _, parent := range r.stageDirs(pipelineDir) {
			file := filepath.Join(parent, name, "stage.yaml")
			if isFile(file) {
				return StageDir{Name: name, Path: filepath.Dir(file)}, nil
			}
			missing.Searched = append(missing.Searched, r.display(file))
		}
		if r.Library != nil {
			file := path.Join("stages", name, "stage.yaml")
			if isLibraryFile(r.Library, file) {
				return StageDir{Name: name, Path: path.Dir(file), Library: true}, nil
			}
			missing.Searched = append(missing.Searched, "the shipped stages")
		}
	}
	missing.Nearest = nearest.Name(name, r.Stages(pipelineDir))
	return StageDir{}, missing
}

// StagesNamed returns every folder that holds a stage of the name, the one that [Roots.FindStage] returns first; none for a
// name that no stage has.
func (r Roots) StagesNamed(name string) []StageDir {
	if nameFault(name) != "" {
		return nil
	}
	var all []StageDir
	for _, parent := range r.stageDirs("") {
		if file := filepath.Join(parent, name, "stage.yaml"); isFile(file) {
			all = append(all, StageDir{Name: name, Path: filepath.Dir(file)})
		}
	}
	if folder := path.Join("stages", name); r.Library != nil && isLibraryFile(r.Library, path.Join(folder, "stage.yaml")) {
		all = append(all, StageDir{Name: name, Path: folder, Library: true})
	}
	return all
}

// StageFile is how plans and messages name the stage.yaml of a folder.
func (r Roots) StageFile(dir StageDir) string {
	if dir.Library {
		return libraryPrefix + path.Join(dir.Path, "stage.yaml")
	}
	return r.display(filepath.Join(dir.Path, "stage.yaml"))
}

// PipelinesNamed returns the path of every pipeline file of the name (as in [Roots.Pipelines]) as [Roots.FindPipeline] does,
// that which it returns first.
func (r Roots) PipelinesNamed(name string) []string {
	var all []string
	for _, dir := range r.pipelineDirs("") {
		if file := filepath.Join(dir, name+".yaml"); isFile(file) && !slices.Contains(all, file) {
			all = append(all, file)
		}
	}
	if file := path.Join("pipelines", name+".yaml"); r.Library != nil && isLibraryFile(r.Library, file) {
		all = append(all, libraryPrefix+file)
	}
	return all
}

// Stages lists the names of the stages that [Roots.FindStage] finds, sorted.
func (r Roots) Stages(pipelineDir string) []string {
	var names []string
	for _, parent := range r.stageDirs(pipelineDir) {
		entries, _ := os.ReadDir(parent) // a folder that does not exist holds no stages
		for _, e := range entries {
			if isFile(filepath.Join(parent, e.Name(), "stage.yaml")) {
				names = append(names, e.Name())
			}
		}
	}
	if r.Library != nil {
		entries, _ := fs.ReadDir(r.Library, "stages") // a library without stages has none
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return sortedUnique(names)
}

func (r Roots) stageDirs(pipelineDir string) []string {
	dirs := []string{filepath.Join(r.Project, ".claude", "stages")}
	if pipelineDir != "" {
		dirs = append(dirs, filepath.Join(pipelineDir, "stages"))
	}
	for _, scripts := range r.scriptDirs() {
		dirs = append(dirs, filepath.Join(scripts, "stages"))
	}
	return dirs
}

// display is a path as it stands in plans and messages: relative to the project, with slashes, where
// it lies inside it.
func (r Roots) display(file string) string {
	if relative, err := filepath.Rel(r.Project, file); err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return file
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isLibraryFile(library fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := fs.Stat(library, name)
	return err == nil && info.Mode().IsRegular()
}
