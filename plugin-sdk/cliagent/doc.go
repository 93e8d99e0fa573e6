// Package cliagent runs an agent's command line for a provider. The agent is any program that takes
// a prompt on stdin and reports on stdout, such as Claude Code. Start with [Run] and [Command].
//
// The environment is built explicitly ([Environ]). The prompt goes to stdin, which is then closed, because an open
// stdin lets agents wait without end; [Talk] serves agents with a protocol. Both output streams are read concurrently.
// Deadlines limit the run, its silence, and the time after the final message, because agents may hang at any point.
//
// Run ends the process, its group and every descendant: first by SIGTERM, after a grace by SIGKILL.
// On Linux it finds descendants in /proc by parent, group, session, [CallVariable] and an inherited
// resource limit. Only a PID namespace (sandbox mode strict) stops a descendant that avoids all of
// these five. On other systems only the process group is ended.
//
// The package is independent of agents: plugins interpret the events and error messages.
package cliagent
