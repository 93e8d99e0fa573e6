// Package tree holds what is known of a session as a tree of its nodes, and draws it as lines of a terminal.
//
// [Model] is fed with updates of the kernel and keeps little beside the plan and the newest state; [Model.Rows] is the
// tree, and [Draw] turns it into lines of a given width and height. Both only compute: the package writes nothing, reads
// no clock and starts nothing.
package tree
