// Package proof tests protocol v1; it is not part of the product.
//
// The tests run a provider with its own tool loop (turns, gated calls, checkpoints) against a small
// journaling kernel. They cut the connection at every possible place, resume from the newest
// checkpoint and the later calls, and count the executions of every tool.
package proof
