package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "compare with the committed code instead of writing it")
	old := flag.String("breaking", "", "compare the protocol with this older .proto `file` instead of generating")
	flag.Parse()
	if err := run(context.Background(), *check, *old); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run executes the flags' command in the repository around the working directory.
func run(ctx context.Context, check bool, old string) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	if old != "" {
		return checkBreaking(ctx, old, filepath.Join(root, protoDir, protoFile))
	}
	files, err := generate(ctx, root)
	if err != nil {
		return err
	}
	if check {
		return compare(root, files)
	}
	return write(root, files)
}

// repositoryRoot returns the nearest parent directory with go.work.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.work in this directory or above it; run in the repository")
		}
		dir = parent
	}
}

// checkBreaking reports every incompatible change from the old file to the new one.
func checkBreaking(ctx context.Context, oldPath, newPath string) error {
	before, err := compileFile(ctx, oldPath)
	if err != nil {
		return err
	}
	after, err := compileFile(ctx, newPath)
	if err != nil {
		return err
	}
	if faults := breaking(before, after); len(faults) > 0 {
		return fmt.Errorf("the protocol breaks its older version %s:\n  %s", oldPath, strings.Join(faults, "\n  "))
	}
	return nil
}
