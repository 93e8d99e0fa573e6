package sample

import (
	"context"
	"fmt"
)

// Subject measures one thing once and returns its number. It may reduce many events to one number,
// by their median say.
type Subject func(ctx context.Context) (float64, error)

// InTurn measures all subjects alternately, rounds times, and returns a series for each, whose i-th
// values belong together. Every second round goes backwards, so that nobody always comes after the
// same neighbour. One round more is made before and not counted: caches fill in it.
func InTurn(ctx context.Context, rounds int, subjects ...Subject) ([]Series, error) {
	all := make([]Series, len(subjects))
	for round := range rounds + 1 {
		for i := range subjects {
			if round%2 == 1 {
				i = len(subjects) - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			value, err := subjects[i](ctx)
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
			if round > 0 {
				all[i] = append(all[i], value)
			}
		}
	}
	return all, nil
}
