// Package faults holds the tests of what happens under faults of the machine: full disks, read-only directories,
// directories that go away, clocks that are set, damaged journals, two kernels at once, readers that do not read, plugins
// that end or use up memory, too few descriptors. They run the real command and real plugin processes in namespaces of
// their own (Linux), where file systems can be mounted and go away with the test. docs/operations.md is the user's
// documentation.
//
// By default a few places of each kind are tried; -faults.every tries all.
package faults
