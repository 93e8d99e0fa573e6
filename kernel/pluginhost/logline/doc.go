// Package logline makes what a plugin writes on stderr into lines of the log.
//
// hclog's JSON lines keep their level, message and fields. Other lines are debug messages, unless they say
// otherwise by a prefix such as [WARN]; from the beginning of a Go panic on, all are errors. Everything is
// redacted, terminal escape sequences are taken out, long lines are cut and say by how much, and of a flood
// of lines most are left out and counted: a plugin that talks must not slow the kernel.
//
// A [Writer] takes the bytes as they come, in whatever pieces.
package logline
