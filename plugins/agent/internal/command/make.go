package command

import (
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

var (
	makeTarget   = regexp.MustCompile(`^[A-Za-z0-9_.%/+@:-]+$`)
	makeVariable = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)[:?+]?=([A-Za-z0-9_./,:+@=-]*)$`)
	makeOption   = regexp.MustCompile(`^(-[BkisnrRwqSpdhv]*([jl][0-9.]*)?|--(always-make|keep-going|silent|quiet|dry-run|just-print|recon|no-print-directory|` +
		`print-directory|question|trace|version|help|jobs|ignore-errors|no-builtin-rules|warn-undefined-variables)|--jobs=[0-9]+|--output-sync(=[a-z]+)?)$`)
)

// makeCommandVariable matches variables that mostly hold commands and their options, which may name a command too.
var makeCommandVariable = regexp.MustCompile(`(?i)(FLAGS|CMD|COMMAND|SHELL|EXEC|WRAPPER|RUNNER)$`)

// makeProgramVariables are variables whose values the built-in rules, and most makefiles, run.
var makeProgramVariables = strings.Fields("SHELL MAKE MAKEFLAGS GNUMAKEFLAGS MAKEFILES MFLAGS AR AS CC CXX CPP LD FC F77 M2C PC CO GET LEX YACC LINT MAKEINFO " +
	"TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM CP MV INSTALL GO CARGO NODE NPM NPX YARN PYTHON PIP RUBY PERL DOCKER GIT CURL SUDO")

// judgeMake judges a make command. It allows targets, known options, -C and -f (whose paths are checked like all
// paths), and variables that are not programs. Make expands values, and its shell reads targets and values, so neither
// may contain characters with a meaning for make or a shell.
func judgeMake(c *call) error {
	c.effect = sdk.EffectIdempotent
	c.applyMakeDirectory()
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		switch {
		case arg == "-f" || arg == "--file" || arg == "--makefile":
			i++
		case strings.HasPrefix(arg, "--file="), strings.HasPrefix(arg, "--makefile="), strings.HasPrefix(arg, "-f"):
		case strings.HasPrefix(arg, "-"):
			if !makeOption.MatchString(arg) {
				return refuse("make %s is not known", arg)
			}
		case strings.Contains(arg, "="):
			m := makeVariable.FindStringSubmatch(arg)
			if m == nil {
				return refuse("the variable %q has a value that make or its shell could run", arg)
			}
			if slices.Contains(makeProgramVariables, m[1]) || makeCommandVariable.MatchString(m[1]) {
				return refuse("make %s= would name a program, or its options", m[1])
			}
		case !makeTarget.MatchString(arg):
			return refuse("%q is not a plain make target", arg)
		}
	}
	return nil
}

// applyMakeDirectory removes -C, in all its spellings, and changes to its directory.
func (c *call) applyMakeDirectory() {
	for i := 0; i < len(c.args); {
		arg := c.args[i]
		switch {
		case (arg == "-C" || arg == "--directory") && i+1 < len(c.args):
			c.enterDirectory(i, 2, c.args[i+1])
		case strings.HasPrefix(arg, "--directory="):
			c.enterDirectory(i, 1, strings.TrimPrefix(arg, "--directory="))
		case strings.HasPrefix(arg, "-C") && len(arg) > len("-C"):
			c.enterDirectory(i, 1, arg[len("-C"):])
		case arg == "-f" || arg == "--file" || arg == "--makefile":
			i += 2
		default:
			i++
		}
	}
}
