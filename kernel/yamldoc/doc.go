// Package yamldoc parses one YAML document into a small tree in which every value has its line and column, and collects
// the diagnostics of documents. No other package of the kernel imports a YAML library.
//
// The tree is plain data: aliases and merge keys are expanded within bounds, and tags are resolved to null, boolean,
// number, text, list and map. Several documents, custom tags, keys that are not text, duplicate keys and numbers that
// are not finite are faults ([Fault]). Callers, such as package compile, add the faults of keys, values and references.
//
// Start with [Parse] for the tree, [Document] to collect diagnostics, and [Diagnostics], which is their error.
package yamldoc
