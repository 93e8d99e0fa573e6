// Package yamldoc parses one YAML document into a small tree in which every value has its line and column. It is
// the only package that imports a YAML library.
//
// The tree is plain data: aliases and merge keys are expanded within bounds, and tags are resolved to null,
// boolean, number, text, list and map. Several documents, custom tags, keys that are not text, duplicate keys and
// not-a-number are a [Fault]. The meaning of the keys is not its concern. Start with [Parse].
package yamldoc
