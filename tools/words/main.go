// Command words prints the hits of the word list in the code, as file:line: text: suggestion.
//
//	go run ./tools/words [-count] [path...]
//
// Paths limit the output to files or directories. It exits with 1 if there are hits.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/tools/wordlist"
)

func main() {
	count := flag.Bool("count", false, "print the number of hits of each package")
	flag.Parse()
	list, err := wordlist.Default()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	hits, err := list.Check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	hits = below(hits, flag.Args())
	report(os.Stdout, hits, *count)
	if len(hits) > 0 {
		os.Exit(1)
	}
}

// below keeps the hits in the given files and directories; all of them if there are none.
func below(hits []wordlist.Hit, paths []string) []wordlist.Hit {
	return slices.DeleteFunc(hits, func(h wordlist.Hit) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
			p = path.Clean(p)
			return p == "." || h.Path == p || strings.HasPrefix(h.Path, p+"/")
		})
	})
}

func report(to io.Writer, hits []wordlist.Hit, count bool) {
	if !count {
		for _, h := range hits {
			fmt.Fprintln(to, h)
		}
		return
	}
	sums := map[string]int{}
	for _, h := range hits {
		sums[path.Dir(h.Path)]++
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(to, "%6d %s\n", sums[name], name)
	}
	fmt.Fprintf(to, "%6d in all\n", len(hits))
}
