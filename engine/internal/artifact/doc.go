// Package artifact finds what a node's agent made for the nodes behind it, holds it against the node's contract, and
// keeps it: a map of plain data in an envelope, as YAML that people can read.
//
// An agent hands it over in a file, as a member of its result, or in what it says ([Find]). Values that were measured
// stand over what it wrote ([Fill]), a schema and a verdict judge it ([Faults], [VerdictOf]), [Write] keeps it and [Load]
// reads it back. Which of them a node is given, [InputOf] says, and [EffectiveInput] what is in it. Which outcome follows
// from all that, package contract says.
package artifact
