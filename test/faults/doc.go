// Package faults tests the product under faults of the machine. Disks are full, directories are read-only or vanish,
// clocks are set, journals are damaged. Two kernels run at once, readers do not read, plugins end or use up memory,
// descriptors are too few. The tests run the real command and real plugin processes in namespaces of their own (Linux).
// File systems mounted there vanish with the test. docs/operations.md is the user's documentation.
//
// By default a few places of each kind are tried; -faults.every tries all.
package faults
