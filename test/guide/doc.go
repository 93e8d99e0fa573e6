// Package guide tests that the guides in docs are true. A code block that claims to be a file of the
// repository equals that file. Tests that a guide names exist, links have a target, and the index names
// every page.
package guide
