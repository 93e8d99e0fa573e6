package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "list the places behind the numbers")
	flag.Parse()
	failed, err := run(os.Stdout, ".", *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Fprintf(os.Stderr, "size: %d starred rows exceed their bounds; list the places with: go run ./tools/size -v\n", failed)
		os.Exit(1)
	}
}

// run prints the table of the workspace at root. It returns the number of starred rows that exceed their bounds.
func run(to io.Writer, root string, verbose bool) (int, error) {
	tree, err := readTree(os.DirFS(root))
	if err != nil {
		return 0, err
	}
	packages, err := loadPackages(root, tree)
	if err != nil {
		return 0, err
	}
	results, err := measure(root, tree, packages)
	if err != nil {
		return 0, err
	}
	failed := 0
	fmt.Fprintf(to, "%-62s %8s %8s  %s\n", "what", "now", "end", "")
	for i, row := range rows {
		got := results[i]
		verdict := "ok"
		switch {
		case got.now > row.bound && row.starred:
			verdict = "FAIL"
			failed++
		case got.now > row.bound:
			verdict = "over"
		}
		mark := " "
		if row.starred {
			mark = "*"
		}
		fmt.Fprintf(to, "%s%-61s %8d %8s  %s\n", mark, row.label, got.now, fmt.Sprintf("<=%d", row.bound), verdict)
		fmt.Fprintf(to, "   %s%s\n", row.method, got.note)
		if verbose {
			for _, place := range got.places {
				fmt.Fprintln(to, "     ", strings.ReplaceAll(place, "\n", "\n        "))
			}
		}
	}
	return failed, nil
}
