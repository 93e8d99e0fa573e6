// Package bare is gRPC and nothing else: a service that answers one message with another, by a unary
// call or on a bidirectional stream, over a Unix socket. It is the floor under a call of a plugin.
//
// The service is written by hand over a ready-made message, since generated code would add nothing to
// what is measured.
package bare
