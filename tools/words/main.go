// Command words prints the hits of the word list in the code, as file:line: text: suggestion. It exits with 1 if
// there are hits, or after an error.
package main

import (
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/tools/wordlist"
)

func main() {
	list, err := wordlist.Default()
	var hits []wordlist.Hit
	if err == nil {
		hits, err = list.Check(os.DirFS("."))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	for _, hit := range hits {
		fmt.Println(hit)
	}
	if len(hits) > 0 {
		os.Exit(1)
	}
}
