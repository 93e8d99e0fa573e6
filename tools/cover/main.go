package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
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
	all := blocks{}
	for _, file := range files {
		if err := all.read(file); err != nil {
			return err
		}
	}
	return report(os.Stdout, all.packages(), least)
}

// blocks maps the positions of a profile's blocks to the blocks. A profile lists a block once per
// test binary; the block is covered if any of them ran it.
type blocks map[string]block

type block struct {
	statements int
	ran        bool
}

func (b blocks) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.add(f)
}

func (b blocks) add(profile io.Reader) error {
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode: ") {
			continue
		}
		var at string
		var statements, runs int
		if n, err := fmt.Sscan(line, &at, &statements, &runs); n != 3 || err != nil {
			return fmt.Errorf("read the profile: %q is no block", line)
		}
		b[at] = block{statements, b[at].ran || runs > 0}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	return nil
}

// packages returns the sums by package, ordered by name.
func (b blocks) packages() []count {
	sums := map[string]count{}
	for at, b := range b {
		file, _, _ := strings.Cut(at, ":")
		c := sums[path.Dir(file)]
		c.name = path.Dir(file)
		c.total += b.statements
		if b.ran {
			c.covered += b.statements
		}
		sums[c.name] = c
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b count) int { return cmp.Compare(a.name, b.name) })
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
