// Package testkit holds what the tests of several packages of the engine share: two assertions and a session's
// directory. Only tests import it.
package testkit
