// Package store makes every path of a session and touches every file below it. Nobody else joins
// path elements: rooms ask for a name here and read or write it through a [Store].
//
// All access goes through [os.Root], so that neither a symbolic link nor ".." in a stage's id, an
// agent's file or a repository can lead out of the project or the session. Names are relative to
// the store and use slashes, as in [event.Ref]; [Store.Abs] gives the absolute path that agents and
// people see.
//
// Start with [OpenProject], then [Project.Create] or [Project.Open] for a session's [Dir], and [At]
// for the directory of a node. What each file holds, who writes it and when: docs/run-files.md.
package store
