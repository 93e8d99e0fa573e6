// Command hello is a minimal Go program. Its run is compared with the start of agent-pipelines.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
