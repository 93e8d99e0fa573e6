// Package bundle packs the files of a session into one archive, without secrets, with a manifest of what is in it.
//
// Start at [Write]. It reads the files by the root that it is given, follows no link out of it, and holds no file whole but
// JSON documents of a few megabytes: everything else is read and cleaned in pieces.
package bundle
