// Package pluginhost finds, checks, starts, watches and ends plugins, and hands out what they serve
// as plain sdk.Provider, sdk.Termination and sdk.HookAction. Components inside this process are
// registered with the same [Host] and used in the same way.
//
// Start with [New] and [Host.Provider]. What comes back is cheap: the plugin's process starts at the
// first call, is shared with all calls that need the same binary, environment and directory, and ends
// when it is idle or the Host is closed. A call that fails because its process fell has a failure of
// kind provider_crashed with the plugin's last words in Detail; if another call is to blame,
// errors.Is(err, [ErrCollateral]) says so.
//
// The rooms, from the outside in: discovery (where plugins lie), trust (which may run), environ (what
// they see), catalog (what they serve), pool (which process serves a call), gate (Init, Validate and
// turns), launch (handshake and connection), process (fork, signals, pipes, survivors).
package pluginhost
