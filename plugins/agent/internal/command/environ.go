package command

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Environ is the environment for commands: base without secrets and without what would point a program elsewhere, then
// given, which the user's policy names and which stays as it is, then what keeps programs quiet. The entry PWD is for who
// starts the command to add, and [ForGit] is for git.
func Environ(base []string, given map[string]string, ws *workspace.Dir, offline bool) []string {
	var kept []string
	for _, entry := range base {
		if name, _, _ := strings.Cut(entry, "="); !redact.Secret(name) && !misleads(name) {
			kept = append(kept, entry)
		}
	}
	set := map[string]string{}
	if cliagent.Getenv(kept, "GIT_SSH_COMMAND") == "" {
		set["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
	}
	maps.Copy(set, given)
	maps.Copy(set, map[string]string{
		"PATH":   SearchPath(cliagent.Getenv(cliagent.Environ(kept, given), "PATH"), ws),
		"EDITOR": "true", "VISUAL": "true", "PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1",
		"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_PAGER": "cat", "GIT_ASKPASS": "true", "GIT_TERMINAL_PROMPT": "0",
	})
	if offline {
		maps.Copy(set, map[string]string{
			"GIT_ALLOW_PROTOCOL": noProtocol, "GOPROXY": "off", "GOTOOLCHAIN": "local", "CARGO_NET_OFFLINE": "true", "PIP_NO_INDEX": "1",
			"npm_config_offline": "true", "YARN_ENABLE_NETWORK": "0",
		})
	}
	return cliagent.Environ(kept, set)
}

// noProtocol is the name of none.
const noProtocol = "none"

// ForGit is the environment for git itself: it sees no repository above the workspace, runs nothing of the repository
// beside itself, and asks none that is only a path, since that may have hooks of its own. What other programs do with git
// is theirs: a project's tests may need all of that. A GIT_ALLOW_PROTOCOL that is set already stays.
func ForGit(environ []string, ws *workspace.Dir) []string {
	set := map[string]string{"GIT_CEILING_DIRECTORIES": filepath.Dir(ws.Path())}
	if cliagent.Getenv(environ, "GIT_ALLOW_PROTOCOL") == "" {
		set["GIT_ALLOW_PROTOCOL"] = "git:http:https:ssh"
	}
	forceGit(set, cliagent.Getenv(environ, "GIT_CONFIG_COUNT"))
	return cliagent.Environ(environ, set)
}

// gitSettings are stronger than those of any file: nothing of the repository runs beside git, and a directory that only
// looks like a repository is none.
var gitSettings = [][2]string{{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"safe.bareRepository", "explicit"}}

// forceGit adds the settings behind those that the environment has already.
func forceGit(set map[string]string, before string) {
	at, err := strconv.Atoi(before)
	if err != nil || at < 0 {
		at = 0
	}
	for _, setting := range gitSettings {
		set["GIT_CONFIG_KEY_"+strconv.Itoa(at)], set["GIT_CONFIG_VALUE_"+strconv.Itoa(at)] = setting[0], setting[1]
		at++
	}
	set["GIT_CONFIG_COUNT"] = strconv.Itoa(at)
}

// misleads reports whether a variable points git to another repository, or a program to code that it runs first.
func misleads(name string) bool {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE",
		"GIT_PREFIX", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_CONFIG_PARAMETERS", "GIT_TEMPLATE_DIR", "SSH_ASKPASS",
		"BASH_ENV", "ENV", "PYTHONSAFEPATH", "PWD", "OLDPWD":
		return true
	default:
		return false
	}
}
