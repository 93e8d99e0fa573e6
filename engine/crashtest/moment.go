package crashtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Moment is when a kernel is killed, counted from the start, or from the kill before it: as soon as so many lines more
// are in the journal, and so much time after that.
type Moment struct {
	Lines int           `json:"lines"`
	After time.Duration `json:"after_ns,omitempty"`
}

// String is for people: "at line 12", "310ms after line 12".
func (m Moment) String() string {
	if m.After == 0 {
		return fmt.Sprintf("at line %d", m.Lines)
	}
	return fmt.Sprintf("%s after line %d", m.After.Round(time.Millisecond), m.Lines)
}

// timeline is when each line of the undisturbed run's journal was written, counted from the start of the run.
type timeline []time.Duration

// The moments of a trial are of one of four kinds, by its number.
const (
	kinds     = 4 // 0: as soon as a line is there
	kindAfter = 1 // between a line and the next one
	kindAgain = 2 // at a line, and again a few lines later, while the run goes on
	kindTime  = 3 // at any time: where a run spends its time, in hooks and checks, it is killed more often
	fewLines  = 12
	nearlyAll = 0.99 // of the time: what comes at the very last moment comes too late
)

// moments are those of the n-th of so many trials, from 1. They are the same for the same numbers and timeline. Those at
// lines are spread over the whole journal: each trial has a stretch of its own.
func moments(seed uint64, n, of int, line timeline) []Moment {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	part := random.Float64()
	if n%kinds == kindTime {
		return []Moment{line.at(time.Duration(part * nearlyAll * float64(line[len(line)-1])))}
	}
	at := (float64(n-1) + part) / float64(of)
	first := Moment{Lines: 1 + int(at*float64(max(len(line)-1, 1)))}
	switch n % kinds {
	case kindAfter:
		first.After = time.Duration(random.Float64() * float64(line.gap(first.Lines)))
	case kindAgain:
		return []Moment{first, {Lines: 1 + random.IntN(fewLines)}}
	}
	return []Moment{first}
}

// at is a time of the run, counted from the line before it: so it is the same place in a run that is slower.
func (l timeline) at(t time.Duration) Moment {
	i, found := slices.BinarySearch(l, t)
	if found {
		i++
	}
	if i == 0 {
		return Moment{After: t}
	}
	return Moment{Lines: i, After: t - l[i-1]}
}

// gap is the time between the n-th line, from 1, and the next one.
func (l timeline) gap(n int) time.Duration {
	if n >= len(l) {
		return 0
	}
	return max(0, l[n]-l[n-1])
}
