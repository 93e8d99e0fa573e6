// Package yamldoc turns the bytes of one YAML document into a small tree in which every value knows
// its line and column. It is the only room that imports a YAML library.
//
// The tree is plain data: aliases and merge keys are expanded (within bounds), tags are resolved to
// null, boolean, number, text, list and map, and everything that has no place in a pipeline file
// (several documents, custom tags, keys that are no text, duplicate keys, not-a-number) is a
// [Fault]. What the keys mean is the business of package compile. Start with [Parse].
package yamldoc
