package command

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Environ returns the environment for commands: base without secrets and variables that redirect programs, then added,
// then settings that keep programs quiet. The policy names the variables in added, which may be secrets. The caller
// adds PWD. [GitEnviron] is for git.
func Environ(base []string, added map[string]string, ws *workspace.Dir, offline bool) []string {
	var kept []string
	for _, entry := range base {
		if name, value, _ := strings.Cut(entry, "="); !redact.IsSecretVariable(name, value) && !slices.Contains(redirecting, name) {
			kept = append(kept, entry)
		}
	}
	set := map[string]string{}
	if cliagent.Getenv(kept, "GIT_SSH_COMMAND") == "" {
		set["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
	}
	maps.Copy(set, added)
	maps.Copy(set, map[string]string{
		"PATH":   SearchPath(cliagent.Getenv(cliagent.Environ(kept, added), "PATH"), ws),
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

// noProtocol is not the name of a protocol, so that git may use no protocol.
const noProtocol = "none"

// GitEnviron returns the environment for git itself. With it git sees no repository above the workspace and runs no
// programs of the repository. Git also uses no repository that is given by a path, because that repository may have
// hooks. Git that other programs start is not restricted, because tests of a project may need it. A GIT_ALLOW_PROTOCOL
// that is set already stays.
func GitEnviron(environ []string, ws *workspace.Dir) []string {
	set := map[string]string{"GIT_CEILING_DIRECTORIES": filepath.Dir(ws.Path())}
	if cliagent.Getenv(environ, "GIT_ALLOW_PROTOCOL") == "" {
		set["GIT_ALLOW_PROTOCOL"] = "git:http:https:ssh"
	}
	addGitSettings(set, cliagent.Getenv(environ, "GIT_CONFIG_COUNT"))
	return cliagent.Environ(environ, set)
}

// gitSettings override the settings of every configuration file: git runs no program of the repository, and a directory
// that only looks like a bare repository is not used as one. The last ones show content only where an argument asks.
var gitSettings = [][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"safe.bareRepository", "explicit"},
	{"diff.submodule", "short"},
	{"stash.showPatch", "false"},
	{"commit.verbose", "false"},
	{"log.follow", "false"},
}

// addGitSettings adds the settings after the environment's own.
func addGitSettings(set map[string]string, before string) {
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

// redirecting are variables that select another repository for git, or code that a program runs at start. Some change
// the meaning of git's pathspecs, which exclude secrets.
var redirecting = strings.Fields("GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_NAMESPACE " +
	"GIT_PREFIX GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_CONFIG_PARAMETERS GIT_TEMPLATE_DIR SSH_ASKPASS " +
	"GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS " +
	"BASH_ENV ENV PYTHONSAFEPATH PWD OLDPWD")
