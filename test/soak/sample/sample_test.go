package sample

import "testing"

func TestJudge(t *testing.T) {
	flat := Sample{HeapKB: 5000, RSSKB: 40000, Goroutines: 20, Descriptors: 30}
	tests := []struct {
		name  string
		grow  func(i int, s *Sample)
		grown string
	}{
		{"flat", func(int, *Sample) {}, ""},
		{"a warm-up is no leak", func(i int, s *Sample) { s.HeapKB += min(i, 3) * 1000 }, ""},
		{"a peak in the middle is no leak", func(i int, s *Sample) { s.Descriptors += map[bool]int{true: 50}[i == 20] }, ""},
		{"a goroutine every tenth round", func(i int, s *Sample) { s.Goroutines += i / 10 }, "goroutines"},
		{"a descriptor a round", func(i int, s *Sample) { s.Descriptors += i }, "descriptors"},
		{"a process every tenth round", func(i int, s *Sample) { s.Children += i / 10 }, "children"},
		{"a file every fifth round", func(i int, s *Sample) { s.Temps += i / 5 }, "temporary files"},
		{"60 KB a round", func(i int, s *Sample) { s.HeapKB += 60 * i }, "heap KB"},
		{"1 MB a round", func(i int, s *Sample) { s.RSSKB += 1024 * i }, "RSS KB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var all []Sample
			for i := range 40 {
				s := flat
				tt.grow(i, &s)
				all = append(all, s)
			}
			rows, err := Judge(all)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Grown() != (r.Name == tt.grown) {
					t.Error(r)
				}
			}
		})
	}
	if _, err := Judge(make([]Sample, 8)); err == nil {
		t.Error("eight samples, the first of them the warm-up, are enough")
	}
}
