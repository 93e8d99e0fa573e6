// Package sources finds the files of pipelines and stages, and reads their maps.
//
// [Roots] lists the directories that are searched. Each other file reads one map of the dialect: it returns the part of
// the plan that the map describes, with positions, and reports every fault that can be found in the map alone. Package
// compile merges the parts and checks the rules between files, nodes and flags.
package sources
