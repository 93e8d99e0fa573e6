// Package signing signs a user's messages to sessions and the heads of their journals, and checks these signatures. A user has one
// Ed25519 key pair, which the first signature makes. The user may trust further public keys, for example of another
// machine.
//
// The files are in the directories keys and heads of the user's state directory. Only the user may read them: a process
// that can read the private key can sign as the user. Sandboxes hide both.
//
// Start with [Keys] and [HeadFile].
package signing
