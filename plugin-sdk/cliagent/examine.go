package cliagent

import (
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Measured is the version that a plugin was measured with, and how one comes to it: a command. The zero value is none.
type Measured struct{ Version, Update string }

// Examine tells the version of an agent's executable, for [sdk.Examiner]: which one answers to c.Path, and that it answers at
// all. An older one than was measured may do as well, so that it is only told.
func (v *Versions) Examine(ctx context.Context, c Command, m Measured) sdk.Finding {
	f := sdk.Finding{About: "version", State: sdk.FindingOK}
	switch version := v.Of(ctx, c); {
	case Older(version, m.Version):
		f.State = sdk.FindingUnclear
		f.Detail = fmt.Sprintf("%s, %s: older than what was measured: %s", version, c.Path, m.Version)
		f.Hint = "it may work; bring it up to date: " + m.Update
		return f
	case version != "":
		f.Detail = fmt.Sprintf("%s, %s", version, c.Path)
		return f
	}
	f.State = sdk.FindingBad
	f.Detail = fmt.Sprintf("%s --version prints no version", c.Path)
	f.Hint = "run it by hand to see why; it may be half installed, or another program of the name"
	return f
}

// Login is what shows that an agent is logged in, as far as that can be told without asking its service.
type Login struct {
	// Variables are those of the environment that hold a key, or choose a service that has other ones.
	Variables []string
	// Files are where a login is kept; "~/" is the home directory, and ${NAME} at the beginning a variable: where that is not set, the file does
	// not count.
	Files []string
	// Hint says how to log in.
	Hint string
}

// Examine looks for a login in an environment, see [Environ]. One that is found may still have expired; where none is found
// there may be one in a keychain or a settings file.
func (l Login) Examine(env []string) sdk.Finding {
	for _, name := range l.Variables {
		if Getenv(env, name) != "" {
			return sdk.Finding{About: "login", State: sdk.FindingOK, Detail: name + " is set"}
		}
	}
	for _, name := range l.Files {
		path := expanded(name, env)
		if info, err := os.Stat(path); path != "" && err == nil && info.Size() > 0 {
			return sdk.Finding{About: "login", State: sdk.FindingOK, Detail: "by " + name}
		}
	}
	return sdk.Finding{About: "login", State: sdk.FindingUnclear, Detail: "no key in the environment and no login in a file", Hint: l.Hint}
}

// expanded is the path that a name of [Login.Files] stands for, "" for none.
func expanded(name string, env []string) string {
	var variable, rest string
	switch {
	case strings.HasPrefix(name, "~/"):
		variable, rest = "HOME", name[len("~"):]
	case strings.HasPrefix(name, "${"):
		variable, rest, _ = strings.Cut(name[len("${"):], "}")
	default:
		return name
	}
	if dir := Getenv(env, variable); dir != "" {
		return dir + rest
	}
	return ""
}
