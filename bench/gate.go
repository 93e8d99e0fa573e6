package main

import (
	"context"
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/bench/internal/gate"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/measure"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// compare measures the rows that a record names and compares them with it, or records them anew.
func compare(ctx context.Context, o options, g *ground.Ground, machine table.Machine, out io.Writer, tell func(part string)) error {
	record, err := gate.Read(o.gate)
	if err != nil {
		return err
	}
	if !o.record {
		return gate.Run(ctx, record, func(ctx context.Context, parts []string, again bool) ([]table.Row, error) {
			return measure.All(ctx, g, measure.Gate(again), nil, parts, tell)
		}, out)
	}
	rows, err := measure.All(ctx, g, o.effort, nil, record.Parts(), tell)
	if err != nil {
		return err
	}
	if record, err = record.Renew(rows, machine.String()); err != nil {
		return err
	}
	fmt.Fprintln(out, "recorded", len(record.Rows), "ratios in", o.gate)
	return record.Write(o.gate)
}
