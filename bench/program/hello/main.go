// Command hello is a minimal Go program, the peer of the start of a command.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
