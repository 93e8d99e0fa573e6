package settings

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Read reads config.yaml in the user's configuration directory; a missing file has no settings. A file that others
// can write is a fault: it may name programs to run. If foreign is set, dir is inside the project, and the file is
// ignored with a warning. The settings may be used if the list has no errors.
func Read(dir string, foreign bool) (Settings, yamldoc.Diagnostics) {
	file := filepath.Join(dir, FileName)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	var found yamldoc.Diagnostics
	whole := Place{File: file, Pos: dialect.FileStart}
	if foreign {
		whole.in(&found).Warnf(yamldoc.CodeNoEffect, "move it to your own configuration directory, or move its settings for the project into "+ProjectFile,
			"the file is ignored: it lies inside the project and may not be yours")
		return Settings{}, found
	}
	data, problem, hint := content(file)
	if problem != "" {
		whole.in(&found).Errorf(yamldoc.CodeRead, hint, "%s", problem)
		return Settings{}, found
	}
	return Parse(file, data)
}

// content reads the user's file. If the file cannot be used, it returns the reason and a hint.
func content(file string) (data []byte, problem, hint string) {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, yamldoc.ReadProblem(err), "correct the link or remove it"
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return nil, yamldoc.ReadProblem(err), ""
	case !info.Mode().IsRegular():
		return nil, notRegular, "move it away"
	}
	for _, place := range []string{target, filepath.Dir(target), filepath.Dir(file)} {
		info, err := os.Stat(place)
		if err != nil {
			return nil, yamldoc.ReadProblem(err), ""
		}
		if reason := catalog.Exposure(info); reason != "" {
			return nil, place + " is " + reason, "settings may name programs to be run, so only you or root may be able to write them"
		}
	}
	if data, problem = yamldoc.ReadFile(target); problem != "" {
		return nil, problem, "make it readable (chmod u+r), or move it away"
	}
	return data, "", ""
}

const notRegular = "it is not a regular file"

// ReadProject reads [ProjectFile] of a project, whose path is absolute; a missing file has no settings. The file came
// with the project: settings that could name programs to run count only if the user trusts the project and no other
// user can write the file. Otherwise they are left out with a warning. A link out of the project is not followed. The
// settings may be used if the list has no errors.
func ReadProject(project string, trusted func(dir string) (bool, error)) (Settings, yamldoc.Diagnostics) {
	var found yamldoc.Diagnostics
	whole := Place{File: ProjectFile, Pos: dialect.FileStart}
	root, err := os.OpenRoot(project)
	if err != nil {
		whole.in(&found).Errorf(yamldoc.CodeRead, "", "%s", yamldoc.ReadProblem(err))
		return Settings{}, found
	}
	defer root.Close()
	data, exposed, problem := projectContent(root)
	if problem != "" {
		whole.in(&found).Errorf(yamldoc.CodeRead, "replace it with a readable file in the project, or remove it", "%s", problem)
		return Settings{}, found
	}
	s, found := Parse(ProjectFile, data)
	switch ok, err := trusted(project); {
	case err != nil || !ok:
		s = s.confined(&found, "the project is not trusted",
			"set it in "+FileName+" of your own configuration directory, or run `"+failure.Next("trust", project).String()+"` if you trust the project")
	case exposed != "":
		s = s.confined(&found, exposed, "a trusted project's settings may name programs to be run, so only you or root may be able to write them")
	}
	return s, found.Sorted()
}

// projectContent reads the project's file; exposed is the reason why others can write it, "" if they cannot. A missing
// file has no content.
func projectContent(root *os.Root) (data []byte, exposed, problem string) {
	info, err := root.Stat(ProjectFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := root.Lstat(ProjectFile); err == nil {
			return nil, "", "the target of the link does not exist"
		}
		return nil, "", ""
	case err != nil:
		return nil, "", yamldoc.ReadProblem(err)
	case !info.Mode().IsRegular():
		return nil, "", notRegular
	}
	dir, err := root.Stat(path.Dir(ProjectFile))
	if err != nil {
		return nil, "", yamldoc.ReadProblem(err)
	}
	for _, place := range []fs.FileInfo{dir, info} {
		if reason := catalog.Exposure(place); reason != "" {
			exposed = place.Name() + " is " + reason
		}
	}
	f, err := root.Open(ProjectFile)
	if err != nil {
		return nil, "", yamldoc.ReadProblem(err)
	}
	defer f.Close()
	data, problem = yamldoc.ReadAll(f)
	return data, exposed, problem
}

// confined returns the settings without the configurations and variables of providers and the notifications, which only the user may
// set. It reports each removed setting as a warning with the reason.
func (s Settings) confined(found *yamldoc.Diagnostics, reason, hint string) Settings {
	confined := s
	confined.Providers, confined.Notify = nil, nil
	if len(s.Notify) > 0 {
		s.Notify[0].At.in(found).Warnf(yamldoc.CodeUntrusted, hint, "notify is left out: it may name programs to be run, and %s", reason)
	}
	for _, p := range s.Providers {
		if p.Config != nil {
			p.ConfigAt.in(found).Warnf(yamldoc.CodeUntrusted, hint, "providers.%s.config is left out: it may name programs to be run, and %s", p.Name, reason)
			p.Config, p.ConfigAt = nil, Place{}
		}
		if p.Env != nil {
			p.At.in(found).Warnf(yamldoc.CodeUntrusted, hint, "providers.%s.env is left out: it passes on secrets, and %s", p.Name, reason)
			p.Env = nil
		}
		confined.Providers = append(confined.Providers, p)
	}
	return confined
}
