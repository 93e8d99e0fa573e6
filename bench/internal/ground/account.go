package ground

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/dodo-digital/agent-pipelines/bench/internal/cost"
)

// Status lets the real command say how a session stands, and returns what that took.
func (p *Project) Status(ctx context.Context, session string) (cost.Cost, error) {
	return p.ground.account(ctx, p.Dir, p.ground.Command, "status", session, "--plugin-dir", p.ground.Plugins)
}

// Report lets the real command make the page of a session, and returns what that took.
func (p *Project) Report(ctx context.Context, session string) (cost.Cost, error) {
	return p.ground.account(ctx, p.Dir, p.ground.Command, "report", session, "--output", "-", "--plugin-dir", p.ground.Plugins)
}

// ReadLines lets a small program read a file line by line, and returns what that took.
func (g *Ground) ReadLines(ctx context.Context, file string) (cost.Cost, error) {
	return g.account(ctx, g.dir, g.Lines, file)
}

// account runs a program to its end.
func (g *Ground) account(ctx context.Context, dir string, args ...string) (cost.Cost, error) {
	c := exec.CommandContext(ctx, g.Account, args...)
	var said, complaints bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, g.environment(), &said, &complaints
	var took cost.Cost
	if err := c.Run(); err != nil {
		return took, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &complaints)
	}
	err := json.Unmarshal(said.Bytes(), &took)
	return took, err
}
