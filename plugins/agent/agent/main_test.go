package agent

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/stub"
)

func TestMain(m *testing.M) { os.Exit(stub.Main(m, func() error { return goleak.Find() })) }
