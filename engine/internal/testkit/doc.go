// Package testkit holds assertions and a session's directory for the tests of several packages of the
// engine. Only tests import it.
package testkit
