package command

import (
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// goSubcommands are the allowed subcommands of go. Excluded are generate and tool, which run commands named in a file, and
// install, which writes outside the workspace.
var goSubcommands = []string{"build", "clean", "doc", "env", "fix", "fmt", "get", "list", "mod", "run", "test", "version", "vet", "work"}

// goUnsafeFlags are flags that can run another program or reach outside the workspace; -w and -u count only in go env.
var goUnsafeFlags = []string{"C", "exec", "toolexec", "vettool", "overlay", "gccgoflags", "compiler", "http", "w", "u"}

// judgeGo judges a go command.
func judgeGo(c *call) error {
	sub, err := c.subcommand("go", goSubcommands)
	if err != nil {
		return err
	}
	if len(c.args) > 1 {
		if name, dir, glued := strings.Cut(strings.TrimLeft(c.args[1], "-"), "="); name == "C" && c.args[1] != name {
			switch {
			case glued:
				c.enterDirectory(1, 1, dir)
			case len(c.args) > 2:
				c.enterDirectory(1, 2, c.args[2])
			}
		}
	}
	switch sub {
	case "vet", "list", "version", "doc", "env":
		c.effect = sdk.EffectNone
	case "build", "test":
		c.effect = sdk.EffectIdempotent
	}
	c.fetches = sub == "get" || sub == "mod" && len(c.args) > 1 && slices.Contains([]string{"download", "tidy", "vendor"}, c.args[1])
	for i := 1; i < len(c.args); i++ {
		if err := checkGoArgument(c, sub, i); err != nil {
			return err
		}
	}
	return nil
}

func checkGoArgument(c *call, sub string, i int) error {
	arg := c.args[i]
	if !strings.HasPrefix(arg, "-") || arg == "-" || arg == "--" {
		if sub == "run" && strings.Contains(arg, "@") {
			return refuse("go run %s fetches a program and runs it; add it to go.mod first", arg)
		}
		return nil
	}
	name, value, glued := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if !glued && i+1 < len(c.args) {
		value = c.args[i+1]
	}
	switch {
	case name == "u" && sub == "get":
	case name == "w" && sub != "env", name == "u" && sub != "env":
	case slices.Contains(goUnsafeFlags, name), sub == "clean" && (name == "cache" || name == "modcache"):
		return refuse("go %s -%s can run another program, or change files outside the workspace", sub, name)
	case slices.Contains([]string{"ldflags", "gcflags", "asmflags"}, name) && strings.Contains(value, "ext"):
		return refuse("go %s -%s can name another program", sub, name)
	case name == "mod", name == "modfile", name == "o", name == "fix":
		if c.effect == sdk.EffectNone {
			c.effect = sdk.EffectIdempotent
		}
	case slices.Contains([]string{"run", "bench", "skip", "fuzz", "tags", "f"}, name) && (sub == "test" || sub == "list" || sub == "vet" || sub == "build"):
		c.markGoPattern(i, glued)
	}
	return nil
}

// markGoPattern marks the value of a flag as a pattern, not a path.
func (c *call) markGoPattern(i int, glued bool) {
	if !glued {
		i++
	}
	if i < len(c.args) && !leavesWorkspace(c.args[i]) {
		c.text[i] = true
	}
}

// leavesWorkspace reports whether a text would lead out of the workspace if it were a path.
func leavesWorkspace(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "-") && !strings.Contains(text, "=") || strings.Contains(text, "..")
}
