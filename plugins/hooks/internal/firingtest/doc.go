// Package firingtest holds the fixtures that the tests of the hook actions share: requests, a command runner, and
// checks of errors, configurations and schemas. Start with [Request].
package firingtest
