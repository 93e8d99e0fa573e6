// Package crash marks the places where the process may die without losing anything. Each one is a
// call of [Point] at the moment between two effects on the disk.
//
// In a normal build Point does nothing. With the build tag crashpoints it counts, and the process
// kills itself with SIGKILL at the point whose number the environment names:
//
//	AGENT_PIPELINES_CRASH_AT=<n>       die at the n-th point reached, counted from 1 over all names
//	AGENT_PIPELINES_CRASH_LOG=<file>   append "<number> <name>" for each point reached, before dying
//
// A harness runs once with the log to learn how many points there are, then once for each number.
package crash
