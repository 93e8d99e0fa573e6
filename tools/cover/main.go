package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

func main() {
	least := flag.Float64("least", 0, "percent of its statements that every package must have covered")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Args(), *least); err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
}

func run(files []string, least float64) error {
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts = append(texts, string(text))
	}
	all, err := packages(texts...)
	if err != nil {
		return err
	}
	return report(os.Stdout, all, least)
}

// packages returns the coverage of the packages in profiles, ordered by name. A profile lists a block once per test
// binary; the block is covered if any of them ran it.
func packages(profiles ...string) ([]count, error) {
	const mode = "mode: count\n"
	together := mode
	for _, profile := range profiles {
		_, blocks, _ := strings.Cut(profile, "\n") // the first line is the mode
		together += blocks
	}
	files, err := cover.ParseProfilesFromReader(strings.NewReader(together))
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	sums := map[string]count{}
	for _, file := range files {
		c := sums[path.Dir(file.FileName)]
		c.name = path.Dir(file.FileName)
		for _, block := range file.Blocks {
			c.total += block.NumStmt
			if block.Count > 0 {
				c.covered += block.NumStmt
			}
		}
		sums[c.name] = c
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b count) int { return cmp.Compare(a.name, b.name) }), nil
}

// count is the coverage of a package.
type count struct {
	name           string // the import path
	covered, total int    // statements
}

// percent returns the covered percentage; 100 for a package without statements.
func (c count) percent() float64 {
	if c.total == 0 {
		return 100
	}
	return 100 * float64(c.covered) / float64(c.total)
}

// report prints a line for each package. It returns an error if packages are below least or the
// profile has none.
func report(to io.Writer, all []count, least float64) error {
	low := 0
	for _, c := range all {
		mark := ""
		if c.percent() < least {
			low++
			mark = fmt.Sprintf("  less than %g %%", least)
		}
		if _, err := fmt.Fprintf(to, "%6.1f %%  %5d of %5d  %s%s\n", c.percent(), c.covered, c.total, c.name, mark); err != nil {
			return err
		}
	}
	switch {
	case len(all) == 0:
		return fmt.Errorf("the profile has no package")
	case low > 0:
		return fmt.Errorf("%d of %d packages have less than %g %% of their statements covered; see which with: go tool cover -html=FILE", low, len(all), least)
	}
	return nil
}
