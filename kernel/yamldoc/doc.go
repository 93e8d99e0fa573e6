// Package yamldoc parses one YAML document into a small tree in which every value has its line and column, and
// collects the diagnostics of documents. It is the only package that reads YAML.
//
// The tree is plain data: aliases and merge keys are expanded within bounds, and tags are resolved to null, boolean,
// number, text, list and map. Several documents, custom tags, keys that are not text, duplicate keys and not-a-number
// are a [Fault]. Packages compile and settings add the faults of keys and values.
//
// Start with [Parse] for the tree, [Document] to collect diagnostics, and [Diagnostics], which is their error.
package yamldoc
