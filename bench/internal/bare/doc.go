// Package bare is a minimal gRPC service over a Unix socket: it answers a message by a unary call
// or on a bidirectional stream. Its duration is the lower bound for a plugin call. The service uses a ready-made
// message instead of generated code.
package bare
