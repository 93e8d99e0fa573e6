package sources

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Roots are the directories with pipelines and stages. The zero value finds nothing.
type Roots struct {
	// Project is the absolute path of the project that the run works on.
	Project string
	// Engine is $AGENT_PIPELINES_ROOT: a directory with scripts/pipelines and scripts/stages. A relative path is
	// relative to the project. "" means that there is none.
	Engine string
	// Library holds the shipped stages/<name>/stage.yaml and pipelines/<name>.yaml. It may be nil.
	Library fs.FS
}

// NotFoundError reports a pipeline or stage that does not exist.
type NotFoundError struct {
	Kind     string   // "pipeline" or "stage"
	Name     string   // as requested
	Searched []string // the searched paths, in order
	Nearest  string   // the most similar existing name; may be empty
}

// Error names the pipeline or stage.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %q not found", e.Kind, e.Name)
}

// Hint returns the nearest name and the searched paths.
func (e *NotFoundError) Hint() string {
	var hints []string
	if e.Nearest != "" {
		hints = append(hints, fmt.Sprintf("did you mean %q?", e.Nearest))
	}
	if len(e.Searched) > 0 {
		hints = append(hints, "searched "+strings.Join(e.Searched, ", "))
	} else {
		hints = append(hints, "a "+e.Kind+" name must not be empty and must not contain a slash")
	}
	return strings.Join(hints, " ")
}

// FindPipeline returns the absolute path of a pipeline file. An absolute name is not searched for. For any other name,
// the first match wins: the path relative to the project, then, with and without .yaml, .claude/pipelines,
// $AGENT_PIPELINES_ROOT/scripts/pipelines, scripts/pipelines, the library. The path of a shipped pipeline begins
// with "library:"; [Roots.ReadPipeline] reads it. The error is a [*NotFoundError].
func (r Roots) FindPipeline(name string) (string, error) { return r.FindPipelineBeside(name, "") }

// FindPipelineBeside is [Roots.FindPipeline] for a name in a pipeline file. The file's directory, folder, is searched
// after .claude/pipelines.
func (r Roots) FindPipelineBeside(name, folder string) (string, error) {
	missing := &NotFoundError{Kind: "pipeline", Name: name}
	if name != "" {
		for _, file := range r.pipelineFiles(name, folder) {
			if IsFile(file) {
				return file, nil
			}
			missing.Searched = append(missing.Searched, r.Display(file))
		}
		if r.Library != nil && !strings.Contains(name, "/") {
			if file := path.Join("pipelines", strings.TrimSuffix(name, ".yaml")+".yaml"); IsLibraryFile(r.Library, file) {
				return LibraryPrefix + file, nil
			}
			missing.Searched = append(missing.Searched, "the shipped pipelines")
		}
	}
	missing.Nearest = nearest.Name(strings.TrimSuffix(name, ".yaml"), r.pipelineNames(folder))
	return "", missing
}

func (r Roots) pipelineFiles(name, folder string) []string {
	if filepath.IsAbs(name) {
		return []string{filepath.Clean(name)}
	}
	files := []string{filepath.Join(r.Project, name)}
	for _, dir := range r.pipelineDirs(folder) {
		for _, file := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".yaml")} {
			if !slices.Contains(files, file) { // two of the directories may be the same
				files = append(files, file)
			}
		}
	}
	return files
}

// LibraryPrefix begins the path of a library file, also in plans and messages.
const LibraryPrefix = "library:"

// ReadPipeline reads the pipeline file at a path that [Roots.FindPipeline] returned. problem is "" or the reason why
// the file cannot be read.
func (r Roots) ReadPipeline(file string) (data []byte, problem string) {
	name, ok := strings.CutPrefix(file, LibraryPrefix)
	if !ok {
		return yamldoc.ReadFile(file)
	}
	return r.ReadLibrary(name)
}

// ReadLibrary reads a file of the library. problem is "" or the reason why the file cannot be read.
func (r Roots) ReadLibrary(name string) (data []byte, problem string) {
	if r.Library == nil {
		return nil, "this program has no library"
	}
	f, err := r.Library.Open(name)
	if err != nil {
		return nil, yamldoc.ReadProblem(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return yamldoc.ReadAll(f)
}

// AbsolutePath returns the absolute path of a pipeline file. It returns the path of a library file unchanged.
func (r Roots) AbsolutePath(file string) string {
	if filepath.IsAbs(file) || strings.HasPrefix(file, LibraryPrefix) {
		return file
	}
	return filepath.Join(r.Project, file)
}

// PipelineFolder returns the directory of a pipeline file; "" for a library file, which has no user files in its
// directory.
func PipelineFolder(file string) string {
	if strings.HasPrefix(file, LibraryPrefix) {
		return ""
	}
	return filepath.Dir(file)
}

// Pipelines lists the names of the pipelines that [Roots.FindPipeline] finds, sorted.
func (r Roots) Pipelines() []string { return r.pipelineNames("") }

func (r Roots) pipelineNames(folder string) []string {
	var names []string
	for _, dir := range r.pipelineDirs(folder) {
		entries, _ := os.ReadDir(dir) // a missing directory has no pipelines
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && !e.IsDir() {
				names = append(names, name)
			}
		}
	}
	if r.Library != nil {
		entries, _ := fs.ReadDir(r.Library, "pipelines") // the library may lack pipelines
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
		}
	}
	return dialect.SortedUnique(names)
}

func (r Roots) pipelineDirs(folder string) []string {
	dirs := []string{filepath.Join(r.Project, ".claude", "pipelines")}
	if folder != "" {
		dirs = append(dirs, folder)
	}
	for _, scripts := range r.scriptDirs() {
		dirs = append(dirs, filepath.Join(scripts, "pipelines"))
	}
	return dirs
}

// scriptDirs returns the scripts directories of the engine and the project, without repetition.
func (r Roots) scriptDirs() []string {
	project := filepath.Join(r.Project, "scripts")
	if r.Engine == "" {
		return []string{project}
	}
	engine := r.Engine
	if !filepath.IsAbs(engine) {
		engine = filepath.Join(r.Project, engine)
	}
	if engine = filepath.Join(engine, "scripts"); engine != project {
		return []string{engine, project}
	}
	return []string{project}
}

// StageDir is the directory of a stage, on disk or in the library.
type StageDir struct {
	Name    string
	Path    string // absolute on disk, slash-separated from the root of the library
	Library bool
}

// FindStage returns the directory of a stage's stage.yaml. The first match wins: .claude/stages/<name>, stages/<name>
// in pipelineDir (the pipeline's directory, "" for none), $AGENT_PIPELINES_ROOT/scripts/stages/<name>,
// scripts/stages/<name>, the library. The error is a [*NotFoundError].
func (r Roots) FindStage(name, pipelineDir string) (StageDir, error) {
	if all := r.StagesNamed(name, pipelineDir); len(all) > 0 {
		return all[0], nil
	}
	missing := &NotFoundError{Kind: "stage", Name: name, Nearest: nearest.Name(name, r.Stages(pipelineDir))}
	if NameFault(name) == "" {
		for _, parent := range r.stageDirs(pipelineDir) {
			missing.Searched = append(missing.Searched, r.Display(filepath.Join(parent, name, "stage.yaml")))
		}
		if r.Library != nil {
			missing.Searched = append(missing.Searched, "the shipped stages")
		}
	}
	return StageDir{}, missing
}

// StagesNamed returns every directory of a stage of that name, in the order of [Roots.FindStage]; nil for none.
func (r Roots) StagesNamed(name, pipelineDir string) []StageDir {
	if NameFault(name) != "" {
		return nil
	}
	var all []StageDir
	for _, parent := range r.stageDirs(pipelineDir) {
		if file := filepath.Join(parent, name, "stage.yaml"); IsFile(file) {
			all = append(all, StageDir{Name: name, Path: filepath.Dir(file)})
		}
	}
	if dir := path.Join("stages", name); r.Library != nil && IsLibraryFile(r.Library, path.Join(dir, "stage.yaml")) {
		all = append(all, StageDir{Name: name, Path: dir, Library: true})
	}
	return all
}

// StageFile returns the name of a stage's stage.yaml in plans and messages.
func (r Roots) StageFile(dir StageDir) string {
	if dir.Library {
		return LibraryPrefix + path.Join(dir.Path, "stage.yaml")
	}
	return r.Display(filepath.Join(dir.Path, "stage.yaml"))
}

// PipelinesNamed returns the paths of all pipeline files with one of the names of [Roots.Pipelines], in the order in
// which [Roots.FindPipeline] searches their directories.
func (r Roots) PipelinesNamed(name string) []string {
	var all []string
	for _, dir := range r.pipelineDirs("") {
		if file := filepath.Join(dir, name+".yaml"); IsFile(file) && !slices.Contains(all, file) {
			all = append(all, file)
		}
	}
	if file := path.Join("pipelines", name+".yaml"); r.Library != nil && IsLibraryFile(r.Library, file) {
		all = append(all, LibraryPrefix+file)
	}
	return all
}

// Stages lists the names of the stages that [Roots.FindStage] finds, sorted.
func (r Roots) Stages(pipelineDir string) []string {
	var names []string
	for _, parent := range r.stageDirs(pipelineDir) {
		entries, _ := os.ReadDir(parent) // a missing directory has no stages
		for _, e := range entries {
			if IsFile(filepath.Join(parent, e.Name(), "stage.yaml")) {
				names = append(names, e.Name())
			}
		}
	}
	if r.Library != nil {
		entries, _ := fs.ReadDir(r.Library, "stages") // the library may lack stages
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return dialect.SortedUnique(names)
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

// Display returns the name of a file in plans and messages: the relative path with slashes for a file in the project,
// else the path unchanged.
func (r Roots) Display(file string) string {
	if relative, err := filepath.Rel(r.Project, file); err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return file
}

// IsFile reports whether there is a regular file at the path.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsLibraryFile reports whether the library has a regular file at the path.
func IsLibraryFile(library fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := fs.Stat(library, name)
	return err == nil && info.Mode().IsRegular()
}

// maxNameBytes keeps file names with the prefix "parallel-NN-" below the limit of 255 bytes.
const maxNameBytes = 128

// Unquoted returns an escaped name without quotes. Scripts match the messages of the Bash engine, which have no
// quotes.
func Unquoted(name string) string { return strings.Trim(strconv.Quote(name), `"`) }

// NameFault returns the fault of a name that becomes part of a directory name; "" for a valid name. Letters of any
// script are allowed.
func NameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return "is not a directory name"
	case len(name) > maxNameBytes:
		return "is too long"
	case strings.ContainsAny(name, `/\`):
		return "contains a slash"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	default:
		return ""
	}
}
