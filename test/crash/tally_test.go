//go:build crashpoints

package crash

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
)

var (
	short = flag.Bool("crash.short", false, "each crash point's name once for each subject, and few blind kills")
	least = flag.Int("crash.least", 0, "fail if there were fewer kills")
)

// tally counts kills by subject and kind. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex // guards the field below
	kills map[string]map[kind]int
}

// kind is a kind of kill.
type kind string

const (
	atPoint kind = "at points"
	power   kind = "with power loss"
	blind   kind = "blind"
)

var kinds = []kind{atPoint, power, blind}

func (t *tally) add(subject string, k kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kills == nil {
		t.kills = map[string]map[kind]int{}
	}
	if t.kills[subject] == nil {
		t.kills[subject] = map[kind]int{}
	}
	t.kills[subject][k]++
}

// print prints the numbers of kills and returns the total.
func (t *tally) print() int {
	sum := map[kind]int{}
	all := 0
	for _, subject := range slices.Sorted(maps.Keys(t.kills)) {
		fmt.Printf("%-12s", subject)
		for _, k := range kinds {
			n := t.kills[subject][k]
			sum[k] += n
			all += n
			fmt.Printf(" %5d %s", n, k)
		}
		fmt.Println()
	}
	fmt.Printf("%-12s", "all")
	for _, k := range kinds {
		fmt.Printf(" %5d %s", sum[k], k)
	}
	fmt.Printf(": %d kills\n", all)
	return all
}

var killed tally

// TestMain prints the numbers of kills, and fails if the total is less than -crash.least.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if n := killed.print(); n < *least {
		fmt.Printf("FAIL: %d kills, and %d were promised\n", n, *least)
		code = max(code, 1)
	}
	os.Exit(code)
}
