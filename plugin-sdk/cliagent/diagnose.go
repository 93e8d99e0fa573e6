package cliagent

import (
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// TestedVersion is the agent version that a plugin was tested with, and a command that installs it. The
// zero value means no tested version.
type TestedVersion struct{ Version, Update string }

// Diagnose reports the version and path of an agent's executable, for [sdk.Diagnoser]. A version
// older than the tested one is only unclear, because it may work.
func (v *Versions) Diagnose(ctx context.Context, c Command, m TestedVersion) sdk.Finding {
	f := sdk.Finding{About: "version", State: sdk.FindingOK}
	switch version := v.Version(ctx, c); {
	case IsOlder(version, m.Version):
		f.State = sdk.FindingUnclear
		f.Detail = fmt.Sprintf("%s, %s: older than the tested version %s", version, c.Path, m.Version)
		f.Hint = "it may work; update it with: " + m.Update
		return f
	case version != "":
		f.Detail = fmt.Sprintf("%s, %s", version, c.Path)
		return f
	}
	f.State = sdk.FindingBad
	f.Detail = fmt.Sprintf("%s --version prints no version", c.Path)
	f.Hint = "run it by hand to see why; it may be half installed, or another program of the same name"
	return f
}

// Login lists the places that show an agent's login without a call to its service.
type Login struct {
	// Variables are environment variables that hold a key or select a service with its own login.
	Variables []string
	// Files are the files that hold a login. A path may begin with "~/" for the home directory or
	// with ${NAME} for a variable. A path is ignored if its variable is not set.
	Files []string
	// Hint is the user's next step for a login.
	Hint string
}

// Diagnose searches the variables in env (see [Environ]) and the files for a login. The login may
// have expired. If Diagnose finds no login, a keychain or a settings file may still hold one.
func (l Login) Diagnose(env []string) sdk.Finding {
	for _, name := range l.Variables {
		if Getenv(env, name) != "" {
			return sdk.Finding{About: "login", State: sdk.FindingOK, Detail: name + " is set"}
		}
	}
	for _, name := range l.Files {
		path := expandPath(name, env)
		if info, err := os.Stat(path); path != "" && err == nil && info.Size() > 0 {
			return sdk.Finding{About: "login", State: sdk.FindingOK, Detail: "found in " + name}
		}
	}
	return sdk.Finding{About: "login", State: sdk.FindingUnclear, Detail: "no key in the environment and no login in a file", Hint: l.Hint}
}

// expandPath expands "~/" and ${NAME} at the beginning of a path of [Login.Files]. It returns "" if
// the variable is not set.
func expandPath(name string, env []string) string {
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
