package command

import (
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// pythonModules are the modules that may be run by -m, besides those of the workspace.
var pythonModules = strings.Fields("pytest unittest doctest compileall py_compile mypy ruff black flake8 isort pyright build venv pip json.tool tabnanny pycodestyle")

// pythonRuns are options of those modules that name a program or code; argparse takes their beginnings for them.
var pythonRuns = []string{"--python-executable", "--pythonpath", "--pdbcls", "--init-hook", "--custom-typeshed-dir"}

// python judges a python command: options that change how a script runs, then -m with a known module, or a script of the
// workspace. Code as an argument is refused, in whatever cluster of letters it hides.
func python(c *call) error {
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		letters := short(arg)
		switch {
		case arg == "--version" || arg == "--help":
			c.effect = sdk.EffectNone
			continue
		case letters == "" && strings.HasPrefix(arg, "-") && arg != "-":
			return refuse("python %s is not known here", arg)
		case letters == "":
			return nil // the script; what follows is its own
		}
		at := strings.IndexFunc(letters, func(r rune) bool { return !strings.ContainsRune("bBdEhOqRsSuvVx", r) })
		if at < 0 {
			continue
		}
		value := letters[at+1:]
		switch letters[at] {
		case 'm':
			if value == "" && i+1 < len(c.args) {
				i++
				value = c.args[i]
			}
			return c.pythonModule(value, c.args[i+1:])
		case 'W', 'X':
			if value == "" {
				i++
			}
		default:
			return refuse("python %s is code as an argument, or not known here; write code to a file and run that", arg)
		}
	}
	return nil
}

func (c *call) pythonModule(name string, args []string) error {
	for _, arg := range args {
		if option, long := option(arg); long && shortens(option, pythonRuns) {
			return refuse("python -m %s %s can run another program", name, option)
		}
	}
	switch {
	case !slices.Contains(pythonModules, name) && !c.hasModule(name):
		return refuse("python -m %s is not known here; known are: %s", name, strings.Join(pythonModules, ", "))
	case name == "pytest" || name == "unittest":
		c.effect = sdk.EffectIdempotent
		c.pytestTexts(len(c.args) - len(args))
	case name == "pip":
		return c.pip(args)
	}
	return nil
}

// hasModule reports whether the workspace has a module or package of this name, which then is what runs.
func (c *call) hasModule(name string) bool {
	for _, file := range []string{".py", "/__main__.py"} {
		resolved, err := c.ws.Resolve(c.dir + "/" + strings.ReplaceAll(name, ".", "/") + file)
		if err != nil {
			continue
		}
		if info, err := c.ws.Root().Stat(resolved); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// pytestTexts notes the expressions that select tests.
func (c *call) pytestTexts(from int) {
	for i := from; i+1 < len(c.args); i++ {
		if c.args[i] == "-k" && !strings.HasPrefix(c.args[i+1], "-") {
			c.text[i+1] = true
			i++
		}
	}
}

// pip lets packages be looked at and installed.
func (c *call) pip(args []string) error {
	known := []string{"install", "uninstall", "list", "show", "freeze", "check", "download", "--version"}
	if len(args) == 0 || !slices.Contains(known, args[0]) {
		return refuse("pip is allowed: %s", strings.Join(known, ", "))
	}
	c.fetches = args[0] == "install" || args[0] == "download"
	for _, arg := range args {
		if name, long := option(arg); long && shortens(name, []string{"--config-settings", "--python", "--global-option", "--build-option", "--editable-mode", "--log"}) {
			return refuse("pip %s can run another program, or write elsewhere", name)
		}
	}
	return nil
}
