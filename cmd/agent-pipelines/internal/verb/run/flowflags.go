package run

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// FlowFlags are what the command line says over the way through a pipeline.
type FlowFlags struct {
	Skip       []string `sep:"none" placeholder:"NODE" group:"Flow:" help:"Leave a node out. One that is required cannot be. May be given several times."`
	SkipVerify bool     `group:"Flow:" help:"The same as --skip=verify."`
	Timeout    []string `sep:"none" placeholder:"[NODE=]SECONDS" group:"Flow:" help:"How long an attempt of a node may take, or without a node the whole run, whatever the files say. May be given several times."`
	MaxCycles  Cycles   `placeholder:"N" group:"Flow:" help:"How often each edge that leads back may be taken, 1 to 10, whatever the files say."`
}

// Cycles is how often an edge may be taken, 0 where the command says nothing.
type Cycles int

// mostCycles is the most that the kernel allows (K31).
const mostCycles = 10

// UnmarshalText reads a number from 1 to 10.
func (c *Cycles) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > mostCycles {
		return fmt.Errorf("an edge cannot be taken %q times: give a number from 1 to %d, or leave it out", text, mostCycles)
	}
	*c = Cycles(n)
	return nil
}

// Over says the flags in a run's options.
func (f *FlowFlags) Over(o *engine.RunOptions) error {
	o.Skip, o.MaxCycles = slices.Clone(f.Skip), int(f.MaxCycles)
	if f.SkipVerify && !slices.Contains(o.Skip, "verify") {
		o.Skip = append(o.Skip, "verify")
	}
	for _, said := range f.Timeout {
		if err := timeout(said, o); err != nil {
			return err
		}
	}
	return nil
}

// timeout says one --timeout in a run's options.
func timeout(said string, o *engine.RunOptions) error {
	i := strings.LastIndexByte(said, '=') // an id may hold one
	if i == 0 {
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s'", said), "write a node and seconds, as in --timeout=execute=300, or seconds for the whole run")
	}
	seconds, err := strconv.ParseFloat(said[i+1:], 64)
	limit := time.Duration(seconds * float64(time.Second))
	valid := err == nil && limit > 0 && limit <= maxTimeout
	switch {
	case i < 0 && !valid:
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s'", said), "write seconds for the whole run, as in --timeout=3600, or a node and seconds, as in --timeout=execute=300")
	case i < 0 && o.Timeout != 0:
		return cli.UsageError("--timeout says twice how long the whole run may take", "leave one of them out, or write a node and seconds, as in --timeout=execute=300")
	case i < 0:
		o.Timeout = limit
		return nil
	case !valid:
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s' for node '%s'", said[i+1:], said[:i]), "write seconds, as in --timeout=%s=300", said[:i])
	}
	if o.Timeouts == nil {
		o.Timeouts = map[string]time.Duration{}
	}
	o.Timeouts[said[:i]] = limit
	return nil
}

// maxTimeout is more than any attempt takes; above it numbers do not fit.
const maxTimeout = 10_000 * time.Hour

// flowArguments are flags that say the same in another process.
func flowArguments(o engine.RunOptions) []string {
	var args []string
	for _, node := range o.Skip {
		args = append(args, "--skip="+node)
	}
	if o.Timeout > 0 {
		args = append(args, "--timeout="+seconds(o.Timeout))
	}
	for _, node := range slices.Sorted(maps.Keys(o.Timeouts)) {
		args = append(args, "--timeout="+node+"="+seconds(o.Timeouts[node]))
	}
	if o.MaxCycles > 0 {
		args = append(args, "--max-cycles="+strconv.Itoa(o.MaxCycles))
	}
	return args
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// given are the flags that were given.
func (f *FlowFlags) given() []string {
	return givenOf([]givenFlag{
		{"--skip", len(f.Skip) > 0}, {"--skip-verify", f.SkipVerify}, {"--timeout", len(f.Timeout) > 0}, {"--max-cycles", f.MaxCycles > 0},
	})
}

// givenFlag is a flag that may have been given.
type givenFlag struct {
	name  string
	given bool
}

// givenOf are the names of those that were.
func givenOf(flags []givenFlag) []string {
	var names []string
	for _, flag := range flags {
		if flag.given {
			names = append(names, flag.name)
		}
	}
	return names
}
