package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// FlowFlags holds the flags that change the path through a pipeline.
type FlowFlags struct {
	Skip       []string   `sep:"none" placeholder:"NODE" group:"Flow:" help:"Skip a node that is not required; repeatable."`
	SkipVerify bool       `group:"Flow:" help:"Same as --skip=verify."`
	Timeout    []string   `sep:"none" placeholder:"[NODE=]SECONDS" group:"Flow:" help:"Time limit of a node's attempts, or without a node of the whole run; overrides the files; repeatable."`
	MaxCycles  cycleLimit `placeholder:"N" group:"Flow:" help:"Maximum cycles through each edge that leads back, 1 to 10; overrides the files."`
}

// cycleLimit is the limit of --max-cycles, 0 if the flag is absent.
type cycleLimit int

// maxCycles is the largest limit that the kernel accepts (K31).
const maxCycles = 10

// UnmarshalText reads a number from 1 to 10.
func (c *cycleLimit) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > maxCycles {
		return fmt.Errorf("invalid value %q: want 1 to %d", text, maxCycles)
	}
	*c = cycleLimit(n)
	return nil
}

// Apply adds the flags to a run's options.
func (f *FlowFlags) Apply(o *engine.RunOptions) error {
	o.Skip, o.MaxCycles = slices.Clone(f.Skip), int(f.MaxCycles)
	if f.SkipVerify && !slices.Contains(o.Skip, "verify") {
		o.Skip = append(o.Skip, "verify")
	}
	for _, value := range f.Timeout {
		if err := setTimeout(value, o); err != nil {
			return err
		}
	}
	return nil
}

// setTimeout sets one --timeout in a run's options.
func setTimeout(value string, o *engine.RunOptions) error {
	i := strings.LastIndexByte(value, '=') // a node's id may contain "="
	if i == 0 {
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s'", value), "write a node and seconds, as in --timeout=execute=300, or seconds for the whole run")
	}
	seconds, err := strconv.ParseFloat(value[i+1:], 64)
	limit := time.Duration(seconds * float64(time.Second))
	valid := err == nil && limit > 0 && limit <= maxTimeout
	switch {
	case i < 0 && !valid:
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s'", value), "write seconds for the whole run, as in --timeout=3600, or a node and seconds, as in --timeout=execute=300")
	case i < 0 && o.Timeout != 0:
		return cli.UsageError("--timeout limits the whole run twice", "leave one of them out, or write a node and seconds, as in --timeout=execute=300")
	case i < 0:
		o.Timeout = limit
		return nil
	case !valid:
		return cli.UsageError(fmt.Sprintf("--timeout cannot be '%s' for node '%s'", value[i+1:], value[:i]), "write seconds, as in --timeout=%s=300", value[:i])
	}
	if o.Timeouts == nil {
		o.Timeouts = map[string]time.Duration{}
	}
	o.Timeouts[value[:i]] = limit
	return nil
}

// maxTimeout bounds --timeout, so that the value fits a [time.Duration].
const maxTimeout = 10_000 * time.Hour
