// Package trust decides whether a binary may be started, and remembers what the user allowed.
//
// [Verifier] opens a plugin's file, takes the SHA-256 of the open file and compares it with the lock
// ([Lock], plugins.lock in the user's configuration directory): an entry that differs refuses, a
// missing one does not. The open file goes on to the exec, so that what was checked is what runs.
// [Verifier.OpenSelf] does the same for the program of this process, which may serve plugins itself.
// [Store] reads and writes the two files of the user: plugins.lock and trusted.json, the directories
// for which the user once said `trust`. Nothing here starts anything.
package trust
