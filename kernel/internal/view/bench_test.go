package view_test

import (
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/view"
)

// BenchmarkWrite writes the file of sessions that have made so many iterations (U056: under 100 ms).
func BenchmarkWrite(b *testing.B) {
	for _, iterations := range []int{10, 300, 3000} {
		b.Run(fmt.Sprint(iterations), func(b *testing.B) {
			_, d := openDir(b, "p2")
			p := twoStages()
			p.Nodes[0].Termination["max"] = 1 << 20
			s := newStory(b, d, p)
			s.begin("pipeline")
			s.enter("0")
			for i := range iterations {
				s.iterate("0", i+1)
			}
			for b.Loop() {
				if err := s.writer.Flush(s.st); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead loads the file of a session with 1000 iterations.
func BenchmarkRead(b *testing.B) {
	_, d := openDir(b, "p2")
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1 << 20
	s := newStory(b, d, p)
	s.begin("pipeline")
	s.enter("0")
	for i := range 1000 {
		s.iterate("0", i+1)
	}
	if err := s.writer.Flush(s.st); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := view.Read(d); err != nil {
			b.Fatal(err)
		}
	}
}
