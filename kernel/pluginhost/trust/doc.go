// Package trust decides whether a binary may be started, and records the user's decisions.
//
// [Verifier] opens a plugin's file, computes the SHA-256 of the open file and compares it with the
// lock ([Lock], plugins.lock in the user's configuration directory): a different entry refuses, a
// missing one does not. The open file is executed, so that the verified content runs.
// [Verifier.OpenSelf] does the same for the program of this process, which may serve plugins itself.
// [Store] reads and writes the two files of the user: plugins.lock, and trusted.json with the trusted
// directories. Nothing here starts anything.
package trust
