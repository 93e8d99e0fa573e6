package run

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// SandboxFlags holds the flags for the isolation of a session's plugin processes.
type SandboxFlags struct {
	Sandbox   string        `enum:"none,workspace,strict," default:"" placeholder:"MODE" group:"Isolation:" help:"Confine plugins: none, workspace (the project and granted paths) or strict (also hides other processes and files). Pipelines and project files can only narrow it."`
	Network   string        `name:"sandbox-network" enum:"on,loopback,off," default:"" placeholder:"WORD" group:"Isolation:" help:"Network access of confined plugins: on, loopback or off."`
	Read      []string      `name:"sandbox-read" type:"path" sep:"none" placeholder:"PATH" group:"Isolation:" help:"Another path that confined plugins may read; repeatable."`
	Write     []string      `name:"sandbox-write" type:"path" sep:"none" placeholder:"PATH" group:"Isolation:" help:"Another path that confined plugins may write; repeatable."`
	Memory    string        `name:"sandbox-memory" placeholder:"SIZE" group:"Isolation:" help:"Memory limit of each confined process, such as 2G."`
	Processes int           `name:"sandbox-processes" placeholder:"N" group:"Isolation:" help:"Process limit of each confined plugin."`
	CPU       time.Duration `name:"sandbox-cpu" placeholder:"TIME" group:"Isolation:" help:"CPU time limit of each confined process, such as 10m."`
}

// policy returns the policy set by the flags, nil for none.
func (f *SandboxFlags) policy() (*plan.Sandbox, error) {
	s := plan.Sandbox{
		Mode: plan.SandboxMode(f.Sandbox), Network: plan.Network(f.Network), Read: f.Read, Write: f.Write, Processes: f.Processes, CPU: f.CPU.Seconds(),
	}
	if f.Processes < 0 || f.CPU < 0 {
		return nil, cli.UsageError("a limit of a sandbox is negative", "leave it out for no limit")
	}
	if f.Memory != "" {
		size, err := engine.ParseSize(f.Memory)
		if err != nil {
			return nil, cli.UsageError("--sandbox-memory: "+err.Error(), "write bytes, or a size such as 512M or 2G")
		}
		s.Memory = size
	}
	if s.Complete().Mode == "" {
		return nil, nil
	}
	if rest := s; s.Mode == plan.SandboxNone {
		if rest.Mode = ""; rest.IsRequested() {
			return nil, cli.UsageError("--sandbox=none contradicts the other flags of isolation", "leave out one of them")
		}
	}
	return &s, nil
}
