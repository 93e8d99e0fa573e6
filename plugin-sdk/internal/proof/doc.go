// Package proof tests protocol v1; it is not part of the product.
//
// The tests run a provider with its own tool loop (turns, gated calls, checkpoints) against a small
// journaling kernel. They kill the kernel after each journal entry, resume from the newest
// checkpoint and the later calls, and count the executions of every call.
package proof
