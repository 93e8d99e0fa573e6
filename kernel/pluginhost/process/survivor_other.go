//go:build !linux

package process

import (
	"context"
	"time"
)

// Sweep finds nothing on this system.
func (t *Table) Sweep(ctx context.Context, _ []string, _ time.Duration, _ ...Marker) ([]Survivor, error) {
	return nil, context.Cause(ctx)
}

// endLeaked ends the processes that one plugin process of this kernel left outside its group.
func (t *Table) endLeaked(Marker, int) []Survivor { return nil }

// markedPID is a process that had a mark at the time of a scan.
type markedPID struct{}

// readMarks searches /proc for processes with a mark.
func readMarks() []markedPID { return nil }

func setTag(int, tag) {}

type tag struct{}

func newTag(Marker, int) tag { return tag{} }
