// Package clitest helps to test a provider that drives an agent's command line. [CLI] is a fake of the command line.
// [Streams] plays recorded streams of the real agent to the provider and compares the messages that the kernel receives
// with golden files.
package clitest
