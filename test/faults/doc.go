// Package faults tests the product under faults of the machine. Disks are full, directories are read-only or vanish,
// clocks are set, journals are damaged. Two kernels run at once, readers do not read, plugins end or use up memory,
// descriptors are too few. The tests run the real command and real plugin processes in their own namespaces (Linux).
// File systems mounted there vanish with the test. docs/operations.md is the user's documentation.
//
// By default the tests try a few places of each kind; -faults.every tries all.
package faults
