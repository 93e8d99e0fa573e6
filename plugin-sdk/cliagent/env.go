package cliagent

import (
	"crypto/rand"
	"slices"
	"strings"
)

// CallVariable is set to a random value in the environment of every process that [Run] starts, and
// inherited by what that process starts: by it descendants are found that left group and session.
const CallVariable = "AGENT_PIPELINES_CALL"

// newCall is a value for CallVariable.
func newCall() string { return rand.Text() }

// Environ builds an agent's environment: base (usually os.Environ()) without the variables of the
// plugin handshake, then added, which wins. The result is sorted and holds each name once.
//
// Left out are PLUGIN_*, which go-plugin hands to a plugin, and the cookie by which a plugin knows its
// kernel: an agent that starts an agent-pipelines plugin or another go-plugin program would confuse it
// with them.
func Environ(base []string, added map[string]string) []string {
	vars := make(map[string]string, len(base)+len(added))
	for _, kv := range base {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && !ofHandshake(name) {
			vars[name] = value
		}
	}
	for name, value := range added {
		if !ofHandshake(name) {
			vars[name] = value
		}
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func ofHandshake(name string) bool {
	return strings.HasPrefix(name, "PLUGIN_") || name == handshakeCookie || name == CallVariable
}

// handshakeCookie is wire.CookieKey, written out so that providers which are not served over gRPC do
// not link it.
const handshakeCookie = "AGENT_PIPELINES_PLUGIN_COOKIE"

// Getenv is the value of a variable in an environment of the form that [Environ] returns, "" if it is
// not set.
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n, value, ok := strings.Cut(kv, "="); ok && n == name {
			return value
		}
	}
	return ""
}
