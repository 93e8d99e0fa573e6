package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Options are the server's inputs from the command. All fields are needed.
type Options struct {
	Level   Level
	Version string
	// Root is the absolute path of the project: paths that clients name lie in it.
	Root string
	// Use opens an engine for one call, as a verb does, and closes it after.
	Use func(ctx context.Context, do func(*engine.Engine) error) error
	// Command runs the command with these words and --json, and returns what it printed. It ends with ctx, what it has
	// started in the background does not.
	Command func(ctx context.Context, words ...string) ([]byte, error)
	// Why says why a session is where it is.
	Why func(e *engine.Engine, session string) (why.Explanation, error)
	// Artifact finds the newest artifact of the node that is called so.
	Artifact func(session string, list []engine.ArtifactInfo, node string) (engine.ArtifactInfo, error)
	// Fault is an error as --json prints it, without secrets.
	Fault func(error) json.RawMessage
	// Clean takes secrets out of a text.
	Clean func(string) string
}

// maxMessage is the longest message that is read, in bytes.
const maxMessage = 1 << 20

// Serve serves one client until in ends or ctx does, and returns when every call has. Sessions that it started continue.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	client, leave := context.WithCancel(ctx)
	defer leave()
	s := &server{
		Options:     o,
		whenStopped: func(do func()) func() bool { return context.AfterFunc(ctx, do) },
		whenLeft:    func(do func()) func() bool { return context.AfterFunc(client, do) },
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "agent-pipelines", Title: "agent-pipelines", Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Level.instructions(),
		Capabilities: &mcp.ServerCapabilities{}, // no log messages: logs are on standard error
	})
	m.AddReceivingMiddleware(plainErrors)
	s.reading(m)
	if o.Level.runs() {
		s.running(m)
	}
	if o.Level.approves() {
		s.answering(m)
	}
	err := m.Run(ctx, &stdio{in: in, out: out, onClose: leave})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil // this is how serving ends
	}
	return err
}

// server is shared by the tools. Calls run in parallel; nothing in it changes.
type server struct {
	Options
	// whenStopped has something done when the server is to end, whenLeft when the client has said its last word; unless it
	// is called off.
	whenStopped, whenLeft func(do func()) (callOff func() bool)
}

// reading adds the tools that change nothing.
func (s *server) reading(m *mcp.Server) {
	add(s, m, listSessions, (*server).listSessions)
	add(s, m, listPipelines, (*server).listPipelines)
	add(s, m, lint, (*server).lint)
	add(s, m, dryRun, (*server).dryRun)
	add(s, m, status, (*server).status)
	add(s, m, whyTool, (*server).why)
	add(s, m, events, (*server).events)
	add(s, m, questions, (*server).questions)
	add(s, m, artifacts, (*server).artifacts)
	add(s, m, readArtifact, (*server).readArtifact)
}

// running adds the tools that have sessions work, or stop.
func (s *server) running(m *mcp.Server) {
	add(s, m, start, (*server).start)
	add(s, m, resume, (*server).resume)
	add(s, m, pause, (*server).pause)
	add(s, m, abort, (*server).abort)
}

// answering adds the tools that answer for the user.
func (s *server) answering(m *mcp.Server) {
	add(s, m, approve, (*server).approve)
	add(s, m, reject, (*server).reject)
	add(s, m, skipCall, (*server).skipCall)
}

// plainErrors leaves the empty value of the tool's type out of a result that is an error.
func plainErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if called, is := result.(*mcp.CallToolResult); is && called != nil && called.IsError {
			called.StructuredContent = nil
		}
		return result, err
	}
}

// instructions are for the model of the client.
func (l Level) instructions() string {
	text := "agent-pipelines runs pipelines of coding agents in this project, as sessions that last.\n" +
		"Look: list_pipelines, list_sessions, status, events, why, questions, artifacts, read_artifact. Before a start: lint and dry_run, which run nothing.\n"
	if l.runs() {
		text += "Run: start returns at once with the session's name, and the session continues without you; status with wait_seconds waits until it rests or asks. pause, resume, abort.\n"
	}
	if l.approves() {
		return text + "Answer: a session that needs a decision waits; read questions, then approve or reject with the digest shown there. Ask the user unless you know the user's decision.\n"
	}
	return text + "The user answers the questions of sessions, by the commands that questions shows; this server is not allowed to (agent-pipelines mcp serve --allow approve).\n"
}
