package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "compare with the committed code instead of writing it")
	flag.Parse()
	if err := run(context.Background(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run generates or compares the code of the repository, whose root is the working directory.
func run(ctx context.Context, check bool) error {
	const root = "."
	files, err := generate(ctx, root)
	if err != nil {
		return err
	}
	if check {
		return compare(root, files)
	}
	return write(root, files)
}
