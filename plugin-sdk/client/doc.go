// Package client is the kernel's end of the socket: it makes components of another process look like
// components of this one.
//
// [Handshake], [PluginSets] and [DialOptions] go into go-plugin's ClientConfig; [New] takes the
// connection that go-plugin made. From a [Client] come sdk.Provider, sdk.Termination and sdk.HookAction
// values, which also implement sdk.Initializer and sdk.Validator (terminations sdk.Releaser too) and
// forward to whatever the plugin implements.
//
// The package starts and ends no process and retries nothing. It keeps every call bounded: unary calls
// have deadlines, an attempt whose plugin falls silent ends as provider_crashed, a cancelled attempt
// ends within the request's grace and a little. Errors are failure.Error values: what the plugin
// reported as it reported it, a broken connection as provider_crashed, a broken protocol as
// plugin_invalid. When the caller's own context ended, errors.Is finds its error in the chain.
package client
