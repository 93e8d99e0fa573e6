// Package verification checks whether the journal of a session is as the user left it: by the chain of its lines, the
// signed head in the user's state directory, and the copy of a head that came with the session.
//
// Start with [Check]. A caller that reads the journal itself gets the heads from [Load]. What the chain shows is
// decided in package journal; who signed a head, in package signing.
package verification
