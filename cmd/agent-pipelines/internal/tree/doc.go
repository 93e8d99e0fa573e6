// Package tree models a session as a tree of its nodes, and draws it as lines of a terminal.
//
// [Model] observes updates of the engine and keeps little besides the plan and the latest state; [Model.Rows] returns the
// tree, and [Draw] turns it into lines of a given width and height. Both only compute: the package writes nothing, reads
// no clock and starts nothing.
package tree
