package sample

import (
	"fmt"
	"slices"
)

// Sample holds the resources of a process between two rounds, when no session runs.
type Sample struct {
	Sessions int     `json:"sessions"` // Sessions, Events and Seconds are those of the round before
	Events   int     `json:"events"`
	Seconds  float64 `json:"seconds"`

	HeapKB      int `json:"heap_kb"` // KiB after a garbage collection
	RSSKB       int `json:"rss_kb"`
	Goroutines  int `json:"goroutines"`
	Descriptors int `json:"descriptors"`
	Children    int `json:"children"` // child processes that it has not waited for
	Temps       int `json:"temps"`    // number of entries of its temporary directory
}

// figure is one figure of a sample. Its tolerance is a share of the first median and a constant, added.
type figure struct {
	name  string
	value func(Sample) int
	share float64
	plus  int
}

// figures are the numbers that must not grow. Memory has a share as tolerance, because an allocator keeps some. The
// other figures have only a constant, for connections that are still closing.
var figures = []figure{
	{"heap KB", func(s Sample) int { return s.HeapKB }, 0.10, 1024},
	{"RSS KB", func(s Sample) int { return s.RSSKB }, 0.15, 8192},
	{"goroutines", func(s Sample) int { return s.Goroutines }, 0, 2},
	{"descriptors", func(s Sample) int { return s.Descriptors }, 0, 2},
	{"children", func(s Sample) int { return s.Children }, 0, 1},
	{"temporary files", func(s Sample) int { return s.Temps }, 0, 1},
}

// Row is one figure of the table at the end: the medians of the first and the last quarter after the warm-up, and the
// limit of the last median.
type Row struct {
	Name               string
	First, Last, Limit int
}

// Grown reports whether the figure is over its limit.
func (r Row) Grown() bool { return r.Last > r.Limit }

// String returns the row in readable form.
func (r Row) String() string {
	verdict := "flat"
	if r.Grown() {
		verdict = "GROWS"
	}
	return fmt.Sprintf("%-16s first quarter %8d, last quarter %8d, at most %8d: %s", r.Name, r.First, r.Last, r.Limit, verdict)
}

// Judge compares the first and the last quarter of the samples after the warm-up. The warm-up is the first tenth, at
// least one sample. Fewer than eight samples after it are an error.
func Judge(all []Sample) ([]Row, error) {
	rest := all[min(len(all), max(1, len(all)/10)):]
	quarter := len(rest) / 4
	if quarter < 2 {
		return nil, fmt.Errorf("%d samples are too few to see whether anything grows: run longer", len(all))
	}
	var rows []Row
	for _, f := range figures {
		first, last := median(rest[:quarter], f.value), median(rest[len(rest)-quarter:], f.value)
		rows = append(rows, Row{f.name, first, last, first + int(float64(first)*f.share) + f.plus})
	}
	return rows, nil
}

func median(s []Sample, value func(Sample) int) int {
	values := make([]int, len(s))
	for i := range s {
		values[i] = value(s[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
