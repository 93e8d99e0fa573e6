package command

import (
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// cargoSubcommands are the subcommands that come with cargo. Others may be aliases or any cargo-... program.
var cargoSubcommands = []string{
	"add", "b", "bench", "build", "c", "check", "clean", "clippy", "d", "doc", "fetch", "fmt", "generate-lockfile", "init", "metadata", "new", "pkgid",
	"r", "remove", "run", "rm", "t", "test", "tree", "update", "vendor", "verify-project", "version",
}

// judgeCargo judges a cargo command. It refuses configuration on the command line, which could name wrappers and
// runners.
func judgeCargo(c *call) error {
	if len(c.args) == 1 && (c.args[0] == "--version" || c.args[0] == "-V") {
		c.effect = sdk.EffectNone
		return nil
	}
	sub, err := c.subcommand("cargo", cargoSubcommands)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"build", "b", "check", "c", "test", "t"}, sub) {
		c.effect = sdk.EffectIdempotent
	}
	c.fetches = slices.Contains([]string{"add", "fetch", "generate-lockfile", "update", "vendor"}, sub)
	for _, arg := range c.args[1:] {
		if arg == "--" {
			if sub == "clippy" || sub == "fmt" {
				continue // the arguments after it are for rustc or rustfmt, which have unsafe options too
			}
			return nil
		}
		name, long := longOption(arg)
		if long && slices.Contains([]string{"--config", "--config-path", "--open"}, name) || strings.HasPrefix(arg, "-Z") || strings.HasPrefix(arg, "-C") {
			return refuse("cargo %s %s can name another program", sub, arg)
		}
	}
	return nil
}

// dotnetSubcommands are the subcommands of dotnet that work on a project.
var dotnetSubcommands = []string{"add", "build", "clean", "format", "list", "new", "pack", "publish", "remove", "restore", "run", "sln", "solution", "test", "--info", "--version", "--list-sdks"}

// dotnetProperties are the properties with plain values, which may be set. Others can name commands that a build runs.
var dotnetProperties = strings.Fields("configuration platform version versionprefix versionsuffix assemblyversion fileversion informationalversion targetframework " +
	"runtimeidentifier treatwarningsaserrors warninglevel nowarn collectcoverage coverletoutputformat threshold debugtype optimize publishsinglefile selfcontained " +
	"publishtrimmed publishaot deterministic continuousintegrationbuild langversion nullable category priority name fullyqualifiedname displayname testcategory")

var dotnetProperty = regexp.MustCompile(`^(?i)(?:-{1,2}(?:p|property|filter|logger)[:=]?)?([a-z]*)!?[=~]+[a-z0-9_. +-]*$`)

// judgeDotnet judges a dotnet command.
func judgeDotnet(c *call) error {
	sub, err := c.subcommand("dotnet", dotnetSubcommands)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(sub, "--"):
		c.effect = sdk.EffectNone
	case sub == "build" || sub == "test":
		c.effect = sdk.EffectIdempotent
	}
	c.fetches = sub == "restore" || sub == "add"
	for _, arg := range c.args[1:] {
		if arg == "--" {
			return nil
		}
		if err := checkDotnetArgument(sub, arg); err != nil {
			return err
		}
	}
	return nil
}

func checkDotnetArgument(sub, arg string) error {
	if strings.HasPrefix(arg, "@") {
		return refuse("dotnet %s %s reads more arguments from a file", sub, arg)
	}
	lower := strings.ToLower(strings.TrimLeft(arg, "-"))
	for _, prefix := range []string{"logger:", "dl:", "distributedlogger:", "fl", "rp:", "restoreproperty:"} {
		if strings.HasPrefix(arg, "-") && strings.HasPrefix(lower, prefix) && (sub != "test" || prefix != "logger:") {
			return refuse("dotnet %s %s can run another program", sub, arg)
		}
	}
	if !strings.Contains(arg, "=") && !strings.Contains(lower, "property:") && !strings.HasPrefix(lower, "p:") {
		return nil
	}
	m := dotnetProperty.FindStringSubmatch(arg)
	if len(m) == 0 || !slices.Contains(dotnetProperties, strings.ToLower(m[1])) {
		return refuse("dotnet %s %s sets an unknown property", sub, arg)
	}
	return nil
}
