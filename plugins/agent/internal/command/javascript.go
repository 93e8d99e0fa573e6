package command

import (
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// npmSubcommands are the subcommands of npm that stay in the project and run only the programs that package.json names.
var npmSubcommands = []string{
	"add", "audit", "ci", "dedupe", "explain", "fund", "i", "install", "install-test", "it", "list", "ls", "outdated", "pack", "ping", "prune",
	"query", "rebuild", "remove", "restart", "rm", "run", "run-script", "search", "start", "stop", "t", "test", "tst", "uninstall", "update", "version", "view", "why",
}

// yarnSubcommands are the allowed subcommands of yarn. Yarn runs any other word as a script or a program of a
// dependency.
var yarnSubcommands = []string{
	"add", "audit", "bin", "build", "check", "constraints", "dedupe", "format", "info", "install", "licenses", "lint", "list", "outdated", "pack",
	"remove", "run", "start", "test", "typecheck", "up", "upgrade", "version", "versions", "why",
}

// jsUnsafeOptions are options of npm and yarn that name a program or code, or lead out of the project. Npm accepts
// abbreviations of them.
var jsUnsafeOptions = []string{
	"--call", "--global", "--globalconfig", "--location", "--node-options", "--package", "--script-shell", "--shell", "--userconfig", "--editor",
	"--viewer", "--browser", "--git", "--use-yarnrc", "--init-module", "--node-gyp", "--python",
}

// npmLetters are the known short options. Npm reads other letters as clusters of options.
var npmLetters = []string{"-D", "-S", "-E", "-O", "-P", "-B", "-s", "-d", "-q", "-y", "-f", "-w", "-ws", "-l", "-a"}

// judgeNpm judges an npm command.
func judgeNpm(c *call) error {
	sub, err := c.subcommand("npm", npmSubcommands)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"test", "t", "tst"}, sub) {
		c.effect = sdk.EffectIdempotent
	}
	c.fetches = !slices.Contains([]string{"test", "t", "tst", "run", "run-script", "start", "stop", "restart", "ls", "list", "version", "explain", "why", "query", "pack", "rebuild", "prune"}, sub)
	return c.checkJSOptions("npm", npmLetters)
}

// judgeYarn judges a yarn command of any version.
func judgeYarn(c *call) error {
	if len(c.args) == 0 {
		c.fetches = true
		return nil
	}
	sub, err := c.subcommand("yarn", yarnSubcommands)
	if err != nil {
		return err
	}
	if sub == "test" {
		c.effect = sdk.EffectIdempotent
	}
	if sub == "run" {
		if err := checkYarnScript(c.args[1:]); err != nil {
			return err
		}
	}
	c.fetches = slices.Contains([]string{"add", "audit", "info", "install", "outdated", "remove", "up", "upgrade"}, sub)
	return c.checkJSOptions("yarn", nil)
}

// checkYarnScript refuses programs that yarn run would start besides scripts: node, and other programs that take code.
func checkYarnScript(args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := strings.ToLower(family(args[0]))
	switch {
	case strings.HasPrefix(name, "-"):
		return refuse("yarn run takes the name of a script of package.json first")
	case slices.Contains([]string{"node", "exec", "env", "sh", "bash", "npx", "npm", "yarn", "dlx", "tsx", "ts-node", "babel-node", "bun", "deno"}, name):
		return refuse("yarn would run the program %s with any arguments; name a script of package.json", args[0])
	}
	return nil
}

// checkJSOptions refuses shell characters and, before "--", options that run another program or leave the project.
func (c *call) checkJSOptions(program string, letters []string) error {
	for _, arg := range c.args[1:] {
		if strings.ContainsAny(arg, "$`;&|<>\\") { // old versions pass arguments to a shell with weak quotes
			return refuse("the argument %q of %s has characters that its shell may interpret", arg, program)
		}
	}
	for _, arg := range c.args[1:] {
		if arg == "--" {
			return nil
		}
		name, long := longOption(arg)
		switch {
		case long && abbreviates(strings.Replace(name, "--no-", "--", 1), jsUnsafeOptions):
			return refuse("%s %s can run another program, or leads out of the project", program, name)
		case letters != nil && shortLetters(arg) != "" && !slices.Contains(letters, arg):
			return refuse("%s %s is not known; use long options", program, arg)
		case strings.ContainsAny(shortLetters(arg), "gcC") && letters == nil:
			return refuse("%s %s is not known; use long options", program, arg)
		}
	}
	return nil
}

// nodeSwitches, nodeValues and nodePatterns are options of node that do not choose the code that runs. Options with a
// value need "=": a separate argument would be mistaken for the script.
var (
	nodeSwitches = []string{
		"--test", "--test-only", "--experimental-test-coverage", "--check", "-c", "--version", "-v", "--help", "-h", "--no-warnings",
		"--trace-warnings", "--trace-deprecation", "--no-deprecation", "--throw-deprecation", "--enable-source-maps", "--trace-uncaught",
		"--experimental-vm-modules", "--experimental-strip-types", "--experimental-transform-types", "--no-experimental-strip-types",
		"--preserve-symlinks", "--expose-gc",
	}
	nodeValues = []string{
		"--test-timeout", "--test-concurrency", "--test-reporter", "--max-old-space-size", "--unhandled-rejections", "--stack-trace-limit", "--conditions",
	}
	nodePatterns = []string{"--test-name-pattern", "--test-skip-pattern"}
)

// judgeNode judges a node command: known options, then a script of the workspace. Code as an argument is refused, as
// are options that load code from elsewhere.
func judgeNode(c *call) error {
	for i, arg := range c.args {
		if !strings.HasPrefix(arg, "-") {
			if arg == "inspect" {
				return refuse("node inspect is a debugger; run the script instead")
			}
			return nil // the script; its arguments follow
		}
		name, value, glued := strings.Cut(arg, "=")
		switch {
		case !glued && slices.Contains(nodeSwitches, name):
		case glued && slices.Contains(nodePatterns, name):
			c.text[i] = true
		case glued && slices.Contains(nodeValues, name) && !strings.ContainsAny(value, ":/"):
		default:
			return refuse("node %s is not known: it may run code that is not a file of the workspace", arg)
		}
		if name == "--test" {
			c.effect = sdk.EffectIdempotent
		}
	}
	return nil
}
