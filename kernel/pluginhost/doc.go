// Package pluginhost finds, verifies, starts, watches and ends plugins, and returns their components
// as sdk.Provider, sdk.Termination and sdk.HookAction. Components of this process are registered with
// the same [Host] and used in the same form.
//
// Start with [New] and [Host.Provider]. The plugin's process starts at the first call and is shared by all calls with
// the same binary, environment, directory and sandbox. It ends when it is idle or the Host is closed. If the process
// crashes, its calls fail with kind provider_crashed and the end of the plugin's stderr in Detail. If another
// call is blamed, the error also wraps [ErrCollateralFailure].
//
// Packages below: catalog (find, describe and verify plugins), launch (handshake and connection),
// process (fork, signals, pipes, survivors).
package pluginhost
