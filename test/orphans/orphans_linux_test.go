package orphans

import (
	"flag"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// cancels is the number of trials. The default is for daily runs; make orphans makes 1,000.
var cancels = flag.Int("orphans.cancels", 40, "how many cancels and timeouts TestOrphans makes")

// side is the number of concurrent trials. It exceeds the number of cores, because trials mostly wait.
var side = flag.Int("orphans.side", 4*runtime.NumCPU(), "how many of them at once")

// only selects the scenes of the trials.
var only = flag.String("orphans.only", "", "a regular expression: only these scenes, such as 'strict' or 'model.*timeout'")

// TestOrphans cancels work with process trees by every method, and counts the remaining processes (U047,
// D2).
func TestOrphans(t *testing.T) {
	wanted, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(scenes(), func(s scene) bool { return !wanted.MatchString(s.name()) })
	programs, stub := build(t), stubmodel.Start(t)
	var mu sync.Mutex
	var sum count
	by := map[string]count{}
	next := make(chan int)
	var playing sync.WaitGroup
	for range min(*side, *cancels) {
		playing.Go(func() {
			for i := range next {
				s := all[i%len(all)]
				t.Run(s.name(), func(t *testing.T) {
					c := s.play(t, programs, stub, i)
					mu.Lock()
					defer mu.Unlock()
					sum.add(c)
					total := by[s.way.name]
					total.add(c)
					by[s.way.name] = total
				})
			}
		})
	}
	for i := range *cancels {
		next <- i
	}
	close(next)
	playing.Wait()
	for _, name := range slices.Sorted(maps.Keys(by)) {
		t.Logf("%-34s %s", name, by[name])
	}
	t.Logf("%-34s %s", "all", sum)
	if sum.cancels != *cancels || sum.group+sum.elsewhere > 0 {
		t.Errorf("%d of %d trials ended, %d processes are left", sum.cancels, *cancels, sum.group+sum.elsewhere)
	}
}
