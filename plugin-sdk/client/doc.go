// Package client is the kernel's end of the socket: it presents components of another process as
// local components.
//
// [Handshake], [PluginSets] and [DialOptions] go into go-plugin's ClientConfig; [New] takes the
// resulting connection. A [Client] returns sdk.Provider, sdk.Termination and sdk.HookAction values,
// which forward every call to the plugin.
//
// The package starts and ends no process and retries nothing. Unary calls have deadlines, a silent
// attempt ends as provider_crashed, and a cancelled attempt ends within its grace and the client's
// slack. Errors are failure.Error values; errors.Is also finds the error of the caller's context.
package client
