// Package tool implements the tools of the agent.
//
// Start with [NewSet] and [Set.Prepare]. Prepare checks a call: its parameters against the tool's JSON Schema, its paths
// against the workspace, its command against the list. It returns a [*Refusal] or a [PreparedCall], which holds all that a
// policy or a user needs to allow the call. [PreparedCall.Run] makes an allowed call and repeats the checks that may have a
// new answer; every file is opened through an [os.Root].
//
// Each result is a JSON value that fits the tool's result schema, is cut to the size for a model, and holds no secrets. A
// failure is {"error": {"code", "message"}}, except for a command, whose output is kept.
//
// Approvals and the journal belong to the loop. The kernel checks the paths of file tools against the files that a
// policy protects; this package checks searches and the arguments of commands against them. Apart from policies, no
// file tool writes into .git, a search skips files named like secrets, and no command may name such a file.
package tool
