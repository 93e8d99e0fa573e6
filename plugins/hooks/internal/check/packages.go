package check

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Messages about packages that are not installed. The group is the package, or the program of one. Sources: go 1.26,
// node 24, jest 29, vitest 4, CPython 3.13, dash and bash.
var (
	goFetches  = regexp.MustCompile(`(?m)(?:^|[\s(])([\w.~/-]+@v[\w.+-]+): (?:Get "|.*(?:dial tcp|GOPROXY=off))|^go: downloading (\S+ v\S+)\n(?:.*\n)*.*(?:permission denied|read-only file system)`)
	nodeLacks  = regexp.MustCompile(`(?:Cannot find (?:package|module) '|Failed to resolve import ")((?:@[\w.-]+/)?\w[\w.-]*)|(?m:^(?:.*: )?([\w.-]+): (?:command )?not found$)`)
	pythonLack = regexp.MustCompile(`No module named '?(\w+)`)
)

// missingPackage returns an error if the output names a declared package that is not installed, and the network of
// commands is off. Such a failure says nothing about the code.
func missingPackage(environ []string, root *os.Root, output string) error {
	switch confine.Network(cliagent.Getenv(environ, confine.ToolsVariable)) {
	case confine.Off, confine.Loopback:
	default:
		return nil
	}
	var name, fetch string
	if found := goFetches.FindStringSubmatch(output); found != nil {
		name, fetch = found[1]+found[2], "go mod download"
	} else if name = declared(nodeLacks, output, nodePackages(root)); name != "" {
		fetch = "npm ci"
	} else if name = declared(pythonLack, output, pythonPackages(root, "requirements*.txt")); name != "" {
		fetch = "pip install -r requirements.txt"
	} else if name = declared(pythonLack, output, pythonPackages(root, "pyproject.toml")); name != "" {
		fetch = "pip install -e ."
	}
	if name == "" {
		return nil
	}
	return measureError("%s is not installed, and the network of commands is off", name).WithDetail(output).
		WithHint("run `%s` in the project, then continue; or start with %s on", fetch, failure.Option("sandbox-network"))
}

// declared returns the first name in the output that the packages include, "" for none.
func declared(message *regexp.Regexp, output string, packages []string) string {
	if len(packages) == 0 {
		return ""
	}
	for _, found := range message.FindAllStringSubmatch(output, -1) {
		if name := strings.Join(found[1:], ""); slices.Contains(packages, packageName(name)) {
			return name
		}
	}
	return ""
}

// nodePackages returns the packages that package.json declares.
func nodePackages(root *os.Root) (names []string) {
	var manifest struct{ Dependencies, DevDependencies map[string]any }
	if content, err := readRegular(root, "package.json", maxFileSize); err != nil || json.Unmarshal(content, &manifest) != nil {
		return nil
	}
	for _, all := range []map[string]any{manifest.Dependencies, manifest.DevDependencies} {
		for name := range all {
			names = append(names, packageName(name))
		}
	}
	return names
}

// distribution matches the start of a requirement, at the start of a line or in quotes.
var distribution = regexp.MustCompile(`(?m)(?:^|["'])\s*([A-Za-z][\w.-]*)`)

// pythonPackages returns the modules that the files of a pattern may declare. The module of a distribution often lacks its
// prefix: yaml is in PyYAML, dateutil in python-dateutil.
func pythonPackages(root *os.Root, pattern string) (names []string) {
	files, _ := fs.Glob(root.FS(), pattern) // the pattern is valid
	for _, file := range files {
		content, _ := readRegular(root, file, maxFileSize)
		for _, found := range distribution.FindAllStringSubmatch(string(content), -1) {
			name := packageName(found[1])
			names = append(names, name, strings.TrimPrefix(name, "py"), strings.TrimPrefix(name, "python"))
		}
	}
	return names
}

// packageName returns a name in a form in which PyPI regards equal names as equal.
func packageName(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}
