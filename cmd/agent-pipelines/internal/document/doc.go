// Package document has the shapes of the command's --json output: one Go type for each, with a name and a version,
// and the JSON Schema derived from the type.
//
// Start with [Shapes], the table of all of them. [Marshal] renders a value of one of these types; a verb that runs a
// session prints events before it, as in the journal ([Event]). Other protocols with the same answers use the same
// types.
//
// The package computes no content.
package document
