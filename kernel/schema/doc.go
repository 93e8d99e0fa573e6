// Package schema holds a value of plain data against a JSON Schema (draft 2020-12) and says what is wrong with it in
// words that an agent can act on: a path, a code, a sentence. Nothing is ever fetched: a $ref stays inside its schema,
// and a keyword that the draft does not know is a fault of the schema, since it would check nothing.
//
// Start at [Compile]. What a contract is made of beside its schema is the business of other rooms.
package schema
