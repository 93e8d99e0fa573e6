package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// startError explains a failed handshake. The texts of go-plugin hardly differ between causes, so startError uses the
// first line of stdout and the end of the process.
func (i *Instance) startError(ctx context.Context, err error, timedOut bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if i.child.PID() == 0 {
		return i.notStartedError(err)
	}
	stderr := i.finalStderr()
	if line := i.child.FirstLine(); line != "" {
		return handshakeError(i.command, line, err).WithDetail(stderr)
	}
	if timedOut {
		return failure.New(failure.ProviderTimeout, "plugin %s did not complete the handshake in time", i.command).
			WithHint("is it a plugin? `%s describe` prints its components as JSON", i.command).WithDetail(stderr)
	}
	if t, found := sandboxpolicy.FindStartError(stderr); found && i.policy != nil && i.ended() {
		if t.Exec {
			return execError(i.command, t.Errno)
		}
		return i.policy.StartFailure(t)
	}
	return i.earlyExitError(stderr)
}

// notStartedError returns the error of a process that the system did not start.
func (i *Instance) notStartedError(err error) error {
	var f *failure.Error
	_, system := failure.SystemHint(err)
	switch {
	case errors.As(err, &f): // of the sandbox
		return f
	case system: // the system lacks a resource, whatever was requested
		return execError(i.command, err)
	case i.policy != nil:
		return i.policy.StartFailure(confine.StartError{Text: err.Error()})
	}
	return execError(i.command, err)
}

// earlyExitError returns the error of a process that ended before it printed a line on stdout.
func (i *Instance) earlyExitError(stderr string) error {
	if hasOtherCookie(stderr) {
		return failure.New(failure.PluginInvalid,
			"plugin %s refuses to be started by this program: it expects another handshake cookie", i.command).
			WithHint("it is a plugin of another program or was built with another SDK; build it with this program's plugin-sdk").
			WithDetail(stderr)
	}
	return failure.New(failure.ProviderCrashed, "plugin %s ended before the handshake (%s)", i.command, i.child.Exit()).
		WithHint("`%s describe` starts it by hand", i.command).WithDetail(stderr)
}

// hasOtherCookie reports whether stderr contains a message by which go-plugin or our SDK refuses an unknown host.
func hasOtherCookie(stderr string) bool {
	return strings.Contains(stderr, "This binary is a plugin") || strings.Contains(stderr, " is a plugin for pipelines of agents")
}

// execError returns the error of a file that the system could not start.
func execError(path string, err error) *failure.Error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return failure.New(failure.PluginInvalid, "plugin %s is not a program for %s/%s: %w", path, runtime.GOOS, runtime.GOARCH, err).
			WithHint("install the plugin's build for this system; a script needs a first line such as #!/usr/bin/python3")
	case errors.Is(err, fs.ErrPermission):
		return failure.New(failure.PluginInvalid, "plugin %s may not be executed: %w", path, err).
			WithHint("chmod +x %s, and see that its file system is not mounted noexec", path)
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.ProviderMissing, "plugin %s or the interpreter it names does not exist: %w", path, err).
			WithHint("install it again, or install the interpreter of its first line")
	case errors.Is(err, syscall.ETXTBSY):
		return failure.New(failure.PluginInvalid, "plugin %s is being written: %w", path, err).
			WithHint("install plugins by writing a new file and renaming it")
	}
	hint, _ := failure.SystemHint(err)
	return failure.New(failure.PluginInvalid, "start plugin %s: %w", path, err).WithHint("%s", hint)
}

// handshakeError explains a first line that is not core|protocol|network|address|kind|certificate as required.
func handshakeError(path, line string, err error) *failure.Error {
	parts := strings.Split(line, "|")
	if len(parts) < 4 {
		return failure.New(failure.PluginInvalid, "plugin %s printed %q on stdout instead of the handshake", path, cutLine(line, 80)).
			WithHint("a plugin must print nothing before the SDK serves; let it write to stderr")
	}
	if parts[0] != "1" {
		return failure.New(failure.PluginInvalid, "plugin %s speaks go-plugin's core protocol %q, this program speaks 1", path, parts[0]).
			WithHint("build the plugin with a current plugin-sdk")
	}
	if spoken := protocols(); !slices.Contains(spoken, parts[1]) {
		return failure.New(failure.PluginInvalid, "plugin %s speaks protocol version %s, this program speaks %s",
			path, parts[1], strings.Join(spoken, " and ")).
			WithHint("install a version of the plugin, or of this program, that fits the other")
	}
	if len(parts) < 5 || parts[4] != "grpc" {
		return failure.New(failure.PluginInvalid, "plugin %s does not speak grpc", path).
			WithHint("build the plugin with plugin-sdk")
	}
	return failure.New(failure.PluginInvalid, "plugin %s sent an invalid handshake: %w", path, err).
		WithHint("a plugin opens a unix socket in the directory that PLUGIN_UNIX_SOCKET_DIR names")
}

func protocols() []string {
	var versions []string
	for v := range client.PluginSets() {
		versions = append(versions, strconv.Itoa(v))
	}
	slices.Sort(versions)
	return versions
}

// answerError returns the error of a plugin that did not answer after the handshake.
func (i *Instance) answerError(ctx context.Context, err error, mtls bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if peer := i.socket.peerError(); peer != nil {
		return failure.New(failure.PluginUntrusted, "plugin %s: %w", i.command, peer).
			WithHint("set TMPDIR to a directory that only you can write to, and run the plugin and this program as the same user")
	}
	stderr := i.finalStderr()
	switch {
	case i.timedOut.Load():
		return failure.New(failure.ProviderTimeout, "plugin %s did not answer in time after the handshake", i.command).
			WithHint("is it a plugin? `%s describe` prints its components as JSON", i.command).WithDetail(stderr)
	case i.ended():
		return i.Crash()
	case mtls:
		err = fmt.Errorf("over mutual TLS, which its description promises: %w", err)
	}
	return failure.New(failure.PluginInvalid, "plugin %s does not answer after the handshake: %w", i.command, err).
		WithHint("check the plugin with `%s`", failure.Next("plugins", "verify", i.pluginName())).WithDetail(stderr)
}

func socketError(path string, err error) *failure.Error {
	return failure.New(failure.PluginInvalid, "plugin %s cannot be started: %w", path, err).
		WithHint("set TMPDIR to a short path such as /tmp")
}

func cutLine(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// CallError returns the failure of the process if its end caused err, else err. It is for calls that are not made
// through a pool.
func (i *Instance) CallError(ctx context.Context, err error) error {
	if ctx.Err() != nil || i.Alive(ctx) {
		return err
	}
	_ = i.child.Diagnose(ctx)
	if i.ended() {
		return i.Crash()
	}
	return err
}
