// Package cliagent runs an agent's command line for a provider: Claude Code, Codex, or any program
// that takes a prompt on stdin and reports on stdout.
//
// Start with [Run] and [Command]. Run keeps the rules that such programs taught the hard way:
//
//   - the environment is built explicitly ([Environ]) and carries nothing of the plugin handshake;
//   - the prompt goes to stdin, which is then closed: an open stdin makes agents wait for ever; an agent
//     that speaks a protocol over stdin and stdout is talked with instead ([Talk]);
//   - stdout and stderr are read at the same time, lines of any usual length, into the exchange and
//     into the caller's parser ([Events] tells an agent's JSON events from plain text);
//   - there is a total deadline, an idle deadline, and a short one after the agent's last word,
//     because agents have been seen to hang before, during and after it; a [Sign] tells that the work
//     is over where the last word does not come;
//   - the end is polite first (SIGTERM, a grace period) and then certain (SIGKILL) for the process,
//     its group and every descendant, also those that moved to a session of their own, as the shell
//     tools of agents do. Nothing that the agent started outlives Run, whichever way the run ended.
//
// The package knows no agent: what the events mean, and which words of an error message stand for
// which failure, is in the plugins.
//
// On Linux descendants are found in /proc: by parent, group and session, by [CallVariable] in their
// environment, and by a resource limit that they inherit and nobody else has, whatever they do to
// their environment. What takes that off on purpose, or replaces itself faster than /proc can be
// read, is held only by a PID namespace (sandbox mode strict). Elsewhere only the process group is
// ended.
package cliagent
