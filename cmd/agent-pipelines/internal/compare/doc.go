// Package compare holds what two sessions came to against each other: status, plan, inputs, the way, each node, outputs and
// artifacts.
//
// A [Side] takes the events of a session one by one, and what the kernel knows of it; [Of] compares two of them. What any two
// runs differ in says nothing and is left out: times, ids, the sessions' own names. What the work took (attempts, tokens,
// cost, time) is told and makes no difference. What is kept of a session is bounded, what is left out is counted. The package
// opens no file by itself, and prints nothing.
package compare
