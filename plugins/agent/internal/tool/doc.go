// Package tool has the tools of the agent: what a model may ask for, and what is done then.
//
// Start with [NewSet] and [Set.Prepare]. Prepare checks a call: its parameters against the tool's JSON Schema, its paths
// against the workspace, its command against the list. What it refuses is a [*Refusal], and nobody is asked about it. What
// it accepts is a [Prepared], with everything that a policy or a person needs in order to allow it. [Prepared.Run] does it,
// once it is allowed, and looks again at what may have changed meanwhile; every file is opened through an [os.Root].
//
// Each result is a typed JSON value that fits the tool's result schema, cut to the size that a model should see, and
// without secrets. A failure is {"error": {"code", "message"}}, save that of a command, whose output is kept.
//
// The package asks nobody and journals nothing: that is the loop's. It does not know which files a policy protects, but
// for two things without which the list of commands would promise nothing: no tool writes into a .git directory, and a
// search leaves out files that are named like secrets.
package tool
