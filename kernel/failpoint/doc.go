// Package failpoint marks the places where the process may die without losing anything. Each one is a
// call of [Point] at the moment between two effects: on the disk, or on a plugin.
//
// In a normal build nothing of this does anything. With the build tag crashpoints Point counts, and the
// process kills itself with SIGKILL at the point that the environment names:
//
//	AGENT_PIPELINES_CRASH_AT=<n>          die at the n-th point reached, counted from 1 over all names
//	AGENT_PIPELINES_CRASH_AT=<name>,...   die at the first point that has one of these names
//	AGENT_PIPELINES_CRASH_LOG=<file>      append "<number> <name>" for each point reached, before dying
//	AGENT_PIPELINES_CRASH_POWER=<loss>    before dying, take from the disk what a power loss may take, see below
//	AGENT_PIPELINES_CRASH_DEFECT=<name>   the kernel is wrong in one way, see [Defect]
//
// A harness runs once with the log to learn which points there are, then once for each of them.
//
// # Power loss
//
// A killed process loses nothing that it wrote: the system still has it. Power that fails takes all that was not
// synced. Whoever changes a file of a session tells so by [BeforeWrite], [AfterSync], [BeforeRename], [BeforeRemove], [AfterMkdir] and
// [AfterSyncDir]; from that the package knows what is on the disk for certain. The loss is one that POSIX allows:
//
//	undone   what was not synced never happened: contents, names, directories
//	empty    the names are as they are now, but contents have what was synced alone
//	torn     as empty, and of what was added to them since, the first half
//
// What the process found at its start counts as synced, and what plugins write is no part of it.
package failpoint
