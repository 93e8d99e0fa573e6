// Command size measures the repository and compares it with recorded bounds:
//
//	go run ./tools/size [-v]
//
// It prints one row per measure. It exits with 1 if a starred row exceeds its bound. -v lists the
// places behind the numbers. Code lines are neither blank nor comment, and not in tests, testdata or generated code.
//
// Start with the table in rows.go, which names each method and its bound.
package main
