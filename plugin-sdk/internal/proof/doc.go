// Package proof holds the evidence that protocol v1 carries what it was made for, as tests; nothing in
// it is part of the product.
//
// The tests play a provider that owns a tool loop (a model's turns, gated calls, checkpoints) against
// a small kernel that journals what it is told, cut the connection at every possible place, resume
// with the newest checkpoint and the calls after it, and count what every tool did.
package proof
