// Package testfirst decides whether a development was test first: failing tests, then code that makes the same tests
// pass. It compares measurements; it runs nothing and reads no file.
//
// Start with CheckNew. files.go says which files are tests, names.go which tests a file declares.
package testfirst
