package command

import (
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// npmKnown are the subcommands of npm: those that keep to the project, and run nothing but what package.json names.
var npmKnown = []string{
	"add", "audit", "ci", "dedupe", "explain", "fund", "i", "install", "install-test", "it", "list", "ls", "outdated", "pack", "ping", "prune",
	"query", "rebuild", "remove", "restart", "rm", "run", "run-script", "search", "start", "stop", "t", "test", "tst", "uninstall", "update", "version", "view", "why",
}

// yarnKnown are those of yarn. It would take any other word for a script or a program of a dependency.
var yarnKnown = []string{
	"add", "audit", "bin", "build", "check", "constraints", "dedupe", "format", "info", "install", "licenses", "lint", "list", "outdated", "pack",
	"remove", "run", "start", "test", "typecheck", "up", "upgrade", "version", "versions", "why",
}

// jsRuns are options of npm and yarn that name a program or code, or lead out of the project. Npm takes their beginnings
// for them.
var jsRuns = []string{
	"--call", "--global", "--globalconfig", "--location", "--node-options", "--package", "--script-shell", "--shell", "--userconfig", "--editor",
	"--viewer", "--browser", "--git", "--use-yarnrc", "--init-module", "--node-gyp", "--python",
}

// npmLetters are the short options that are known; npm reads others as clusters.
var npmLetters = []string{"-D", "-S", "-E", "-O", "-P", "-B", "-s", "-d", "-q", "-y", "-f", "-w", "-ws", "-l", "-a"}

// npm judges an npm command.
func npm(c *call) error {
	sub, err := c.subcommand("npm", npmKnown)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"test", "t", "tst"}, sub) {
		c.effect = sdk.EffectIdempotent
	}
	c.fetches = !slices.Contains([]string{"test", "t", "tst", "run", "run-script", "start", "stop", "restart", "ls", "list", "version", "explain", "why", "query", "pack", "rebuild", "prune"}, sub)
	return c.jsOptions("npm", npmLetters)
}

// yarn judges a yarn command, of either generation.
func yarn(c *call) error {
	if len(c.args) == 0 {
		c.fetches = true
		return nil
	}
	sub, err := c.subcommand("yarn", yarnKnown)
	if err != nil {
		return err
	}
	if sub == "test" {
		c.effect = sdk.EffectIdempotent
	}
	if sub == "run" {
		if err := yarnScript(c.args[1:]); err != nil {
			return err
		}
	}
	c.fetches = slices.Contains([]string{"add", "audit", "info", "install", "outdated", "remove", "up", "upgrade"}, sub)
	return c.jsOptions("yarn", nil)
}

// yarnScript refuses what yarn run would start besides scripts: node, and other programs that take code.
func yarnScript(args []string) error {
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

// jsOptions refuses options that run or reach something else. What stands behind "--" is for the project's script.
func (c *call) jsOptions(program string, letters []string) error {
	for _, arg := range c.args[1:] {
		if strings.ContainsAny(arg, "$`;&|<>\\") { // old versions hand arguments to a shell in weak quotes
			return refuse("the argument %q of %s has characters that its shell may read as more", arg, program)
		}
	}
	for _, arg := range c.args[1:] {
		if arg == "--" {
			return nil
		}
		name, long := option(arg)
		switch {
		case long && shortens(strings.Replace(name, "--no-", "--", 1), jsRuns):
			return refuse("%s %s can run another program, or leads out of the project", program, name)
		case letters != nil && short(arg) != "" && !slices.Contains(letters, arg):
			return refuse("%s %s is not known here; write options out", program, arg)
		case strings.ContainsAny(short(arg), "gcC") && letters == nil:
			return refuse("%s %s is not known here; write options out", program, arg)
		}
	}
	return nil
}

// nodeSwitches and nodeValues are options of node that change how a script runs and not which. The value of the latter
// stands behind "=": in the next argument it would be taken for the script here.
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

// node judges a node command: known options, then a script of the workspace. Code as an argument is refused, and so are
// options that load code from elsewhere.
func node(c *call) error {
	for i, arg := range c.args {
		if !strings.HasPrefix(arg, "-") {
			if arg == "inspect" {
				return refuse("node inspect is a debugger; run the script")
			}
			return nil // the script; what follows is its own
		}
		name, value, glued := strings.Cut(arg, "=")
		switch {
		case !glued && slices.Contains(nodeSwitches, name):
		case glued && slices.Contains(nodePatterns, name):
			c.text[i] = true
		case glued && slices.Contains(nodeValues, name) && !strings.ContainsAny(value, ":/"):
		default:
			return refuse("node %s is not known here: it may run code that is no file of the workspace", arg)
		}
		if name == "--test" {
			c.effect = sdk.EffectIdempotent
		}
	}
	return nil
}
