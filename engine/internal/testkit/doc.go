// Package testkit has assertions, and creates sessions, for the tests of several packages of the engine. Only tests
// import it.
package testkit
