// Command agent-plugin-forker is a careless provider. Each attempt starts the program $TREE in the plugin's own process
// group and does not end it when the attempt is cancelled. In the branch "right" the provider kills its own process
// instead, once the tree of another branch is ready.
package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func main() {
	serve.Main(sdk.Plugin{Name: "forker", Version: "1.0.0", Providers: []sdk.Provider{forker{}}})
}

type forker struct{}

func (forker) Describe() sdk.Component {
	return sdk.Component{
		Name: "forker", Summary: "starts processes and forgets them",
		Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal, SoftCancel: true},
	}
}

func (forker) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	dir := os.Getenv("TREE_DIR")
	done := sdk.ExecuteResult{Output: "done", Outcome: sdk.OutcomeSucceeded}
	if exists(dir, "quiet") {
		return done, os.WriteFile(req.Paths.Result, []byte(`{"summary": "done"}`), 0o644)
	}
	if strings.Contains(req.Key, "/right/") {
		for !exists(dir, "ready") && ctx.Err() == nil {
			<-time.After(5 * time.Millisecond)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), os.Getenv("TREE"), os.Getenv("TREE_WORD"), dir, "root", os.Getenv("TREE_KINDS"))
	if err := cmd.Start(); err != nil {
		return sdk.ExecuteResult{}, err
	}
	<-ctx.Done()
	return sdk.ExecuteResult{}, context.Cause(ctx)
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
