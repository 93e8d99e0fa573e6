// Package bundle packs the files of a session into one archive, without secrets and with a manifest of its
// content.
//
// Start at [Write]. It reads the files below a root and follows no link out of it. It keeps only JSON documents of a few
// megabytes in memory as a whole; it reads and redacts all other files in pieces.
package bundle
