// Package exchange is the engine's side of an attempt's conversation with its provider: it keeps the output, decides on
// tool calls or asks the user, journals calls, results and checkpoints, and refuses late deliveries.
//
// It does not start the provider; package attempt does. Start with [New] and [Resume].
package exchange
