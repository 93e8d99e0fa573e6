// Package schema validates plain data against a JSON Schema (draft 2020-12) and reports faults that an agent can
// fix: a path, a code and a sentence. It fetches nothing: a $ref must stay inside its schema. A keyword that the
// draft does not define is a fault of the schema, because it would check nothing.
//
// Start with [Compile]. Package artifact of the engine has the other rules of a contract.
package schema
