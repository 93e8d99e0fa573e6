// Package bundle packs the files of a session into one archive, without secrets and with a manifest of its
// content.
//
// Start at [Write]. It reads the files below a root and follows no link out of it. It keeps JSON documents of up to 8 MiB and
// single lines of journals in memory. It reads and redacts all other files in pieces.
package bundle
