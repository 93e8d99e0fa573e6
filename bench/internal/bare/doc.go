// Package bare is a minimal gRPC service over a Unix socket: it answers a message by a unary call
// or on a bidirectional stream. It is the floor of a plugin call. The service uses a ready-made
// message instead of generated code.
package bare
