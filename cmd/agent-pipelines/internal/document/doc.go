// Package document has the shapes of what the command prints with --json: one Go type for each, with a name and a version,
// and the JSON Schema that is made from the type.
//
// Start with [Shapes], the table of all of them. [Marshal] makes a document of a value of one of these types; what runs a
// session prints events before it, as they stand in the journal ([Event]). Whoever gives the same answers elsewhere, over
// another protocol say, uses the same types.
//
// It computes nothing of what the documents say.
package document
