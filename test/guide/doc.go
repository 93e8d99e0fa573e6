// Package guide holds the tests that keep the guides in docs true: code blocks that claim to be a file
// of the repository are that file, tests that they name exist, links lead somewhere, and the index names
// every page.
package guide
