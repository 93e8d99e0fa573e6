// Package failpoint marks the moments at which the process may die without losing data. Each moment is a call of
// [Point] between two effects: on the disk, or on a plugin.
//
// In a normal build the package does nothing. With the build tag crashpoints Point counts, and the
// process kills itself with SIGKILL at the point that the environment names:
//
//	AGENT_PIPELINES_CRASH_AT=<n>          die at the n-th point reached, counted from 1 over all names
//	AGENT_PIPELINES_CRASH_AT=<name>,...   die at the first point with one of these names
//	AGENT_PIPELINES_CRASH_LOG=<file>      append "<number> <name>" for each point reached, before dying
//	AGENT_PIPELINES_CRASH_POWER=<loss>    before dying, simulate a power loss, see below
//	AGENT_PIPELINES_CRASH_DEFECT=<name>   give the kernel a fault, see [HasDefect]
//
// A test runs once with the log to list the points, then once for each of them.
//
// # Power loss
//
// A killed process loses no written data: the system still has it. A power loss may take all unsynced
// data. Code that changes a file of a session announces it by [BeforeWrite], [AfterSync],
// [BeforeRename], [BeforeRemove], [AfterMkdir] and [AfterSyncDir]. From these calls the package knows
// the durable content of the disk. The losses are among the losses that POSIX allows:
//
//	undone   unsynced changes never happened: contents, names, directories
//	empty    the current names, but only the synced contents
//	torn     as empty, with the first half of the unsynced additions
//
// The content at the start of the process counts as synced. Files of plugins are not covered.
package failpoint
