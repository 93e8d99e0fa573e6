// Package testkit holds what the tests of several packages of the engine share: assertions and a session's
// directory. Only tests import it.
package testkit
