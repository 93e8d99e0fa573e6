// Package testfirst decides whether a test-first development was what it claims: failing tests first, then code that
// makes these same tests pass. It compares measurements; it runs nothing and reads no file.
//
// Start with Judge. files.go says which files are tests, names.go which tests a file declares.
package testfirst
