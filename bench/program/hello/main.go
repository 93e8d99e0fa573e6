// Command hello is the least that a Go program can do: the peer of starting a command written in Go.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
