package command

import (
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// pythonModules are the modules that -m may run, besides the modules of the workspace.
var pythonModules = strings.Fields("pytest unittest doctest compileall py_compile mypy ruff black flake8 isort pyright build venv pip json.tool tabnanny pycodestyle")

// pythonUnsafeOptions are options of these modules that name a program or code; argparse accepts abbreviations of them.
var pythonUnsafeOptions = []string{"--python-executable", "--pythonpath", "--pdbcls", "--init-hook", "--custom-typeshed-dir"}

// judgePython judges a python command: options that change how a script runs, then -m with a known module, or a script of
// the workspace. Code as an argument is refused, also with -c inside combined short options such as -Ic.
func judgePython(c *call) error {
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		letters := shortLetters(arg)
		switch {
		case arg == "--version" || arg == "--help":
			c.effect = sdk.EffectNone
			continue
		case letters == "" && strings.HasPrefix(arg, "-") && arg != "-":
			return refuse("python %s is not known", arg)
		case letters == "":
			return nil // the script; its arguments follow
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
			return c.judgePythonModule(value, c.args[i+1:])
		case 'W', 'X':
			if value == "" {
				i++
			}
		default:
			return refuse("python %s passes code as an argument, or is not known; write code to a file and run the file", arg)
		}
	}
	return nil
}

func (c *call) judgePythonModule(name string, args []string) error {
	for _, arg := range args {
		if option, long := longOption(arg); long && abbreviates(option, pythonUnsafeOptions) {
			return refuse("python -m %s %s can run another program", name, option)
		}
	}
	switch {
	case !slices.Contains(pythonModules, name) && !c.hasModule(name):
		return refuse("python -m %s is not known; known modules are: %s", name, strings.Join(pythonModules, ", "))
	case name == "pytest" || name == "unittest":
		c.effect = sdk.EffectIdempotent
		c.markPytestTexts(len(c.args) - len(args))
	case name == "pip":
		return c.judgePip(args)
	}
	return nil
}

// hasModule reports whether the workspace has a module or package of this name, which python would run first.
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

// markPytestTexts marks the expressions after -k, which select tests, as arguments that are not paths.
func (c *call) markPytestTexts(from int) {
	for i := from; i+1 < len(c.args); i++ {
		if c.args[i] == "-k" && !strings.HasPrefix(c.args[i+1], "-") {
			c.text[i+1] = true
			i++
		}
	}
}

// judgePip allows the known subcommands of pip, without options that run another program or write elsewhere.
func (c *call) judgePip(args []string) error {
	known := []string{"install", "uninstall", "list", "show", "freeze", "check", "download", "--version"}
	if len(args) == 0 || !slices.Contains(known, args[0]) {
		return refuse("pip needs a subcommand, one of: %s", strings.Join(known, ", "))
	}
	c.fetches = args[0] == "install" || args[0] == "download"
	for _, arg := range args {
		if name, long := longOption(arg); long && abbreviates(name, []string{"--config-settings", "--python", "--global-option", "--build-option", "--editable-mode", "--log"}) {
			return refuse("pip %s can run another program, or write elsewhere", name)
		}
	}
	return nil
}
