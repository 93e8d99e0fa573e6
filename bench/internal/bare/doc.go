// Package bare is a minimal gRPC service over a Unix socket that answers unary calls and bidirectional streams. The
// duration of its calls is the lower bound for a plugin call. The service uses a ready-made message instead of generated
// code.
package bare
