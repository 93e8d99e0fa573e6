package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Level is the permission of clients. Each level includes the levels before it.
type Level string

// These are the levels of permission.
const (
	// Read allows a client to read sessions and pipelines, and to preview runs.
	Read Level = "read"
	// Run also allows a client to start, pause, resume and abort sessions.
	Run Level = "run"
	// Approve also allows a client to answer the questions of sessions in the user's name.
	Approve Level = "approve"
)

func (l Level) runs() bool { return l == Run || l == Approve }

func (l Level) approves() bool { return l == Approve }

// Options are the server's inputs from the command. All fields are needed.
type Options struct {
	Level   Level
	Version string
	// Root is the absolute path of the project. Paths from clients must not lead out of it.
	Root string
	// Use opens an engine for one call, as a verb does, and closes the engine afterwards.
	Use func(ctx context.Context, do func(*engine.Engine) error) error
	// Command runs the command with these words and --json, and returns its output. The command ends with ctx; background
	// processes that it has started do not.
	Command func(ctx context.Context, words ...string) ([]byte, error)
	// Why explains the status of a session.
	Why func(e *engine.Engine, session string) (why.Explanation, error)
	// Questions lists the open questions of a session, "" for all, and reports sessions that cannot be read.
	Questions func(e *engine.Engine, session string, unread func(session string, err error)) ([]engine.Question, error)
	// Artifact finds the newest artifact of a node, by the node's id or path.
	Artifact func(session string, list []engine.ArtifactInfo, node string) (engine.ArtifactInfo, error)
	// Clean takes secrets out of a text.
	Clean func(string) string
}

// server is shared by the tools. Calls run in parallel; its fields do not change.
type server struct {
	Options
	// whenStopped calls do when the server stops, whenLeft after the client's last message. callOff prevents the call.
	whenStopped, whenLeft func(do func()) (callOff func() bool)
}

// call is one call of a tool.
type call struct {
	by       string // the caller's name, for the journal
	progress func(n int, message string)
}

// traits are hints about a tool that hosts may show their users.
type traits int

const (
	reads      traits = iota // changes nothing
	adds                     // changes something, and takes nothing away
	addsOnce                 // adds, and a second call changes nothing more
	takesAway                // ends or discards something
	startsWork               // adds, and starts work that reaches the world outside
)

func (t traits) annotations(title string) *mcp.ToolAnnotations {
	destructive, open := t == takesAway, t == startsWork
	return &mcp.ToolAnnotations{
		Title: title, ReadOnlyHint: t == reads, DestructiveHint: &destructive, IdempotentHint: t == reads || t == addsOnce || t == takesAway, OpenWorldHint: &open,
	}
}

// tool describes a tool to hosts and models.
type tool struct {
	name, title string
	traits      traits
	description string // for models
}

// add offers a tool that calls a method. The method's types give its schemas; its results are bounded and without
// secrets.
func add[In, Out any](s *server, m *mcp.Server, do func(*server, context.Context, call, In) (Out, error), t tool) {
	mcp.AddTool(m, &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: t.traits.annotations(t.title)}, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer s.whenStopped(cancel)()
		var none Out
		out, err := do(s, ctx, newCall(ctx, r), in)
		if err == nil {
			out, err = shown(out, s.Clean)
		}
		if err != nil {
			return refusal(err), none, nil
		}
		return nil, out, nil
	})
}

// newCall returns the known facts of a call.
func newCall(ctx context.Context, r *mcp.CallToolRequest) call {
	c := call{by: caller(r.ClientInfo()), progress: func(int, string) {}}
	if token := r.Params.GetProgressToken(); token != nil {
		c.progress = func(n int, message string) {
			// An error is ignored, because progress is optional.
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: message})
		}
	}
	return c
}

// maxCaller is the maximum length of a client's name in the journal, in bytes.
const maxCaller = 64

// caller returns the name of a client for the journal. The client chooses the name, so it proves nothing.
func caller(client *mcp.Implementation) string {
	if client == nil {
		return "mcp"
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, client.Name)
	if name, _ = cut(strings.TrimSpace(name), maxCaller); name == "" {
		return "mcp"
	}
	return "mcp:" + name
}

// maxResult bounds a result, in bytes.
const maxResult = 1 << 20

// shown returns a result as a client gets it, without secrets. A result of more than maxResult bytes is an error.
func shown[Out any](out Out, clean func(string) string) (Out, error) {
	var none Out
	text, err := json.Marshal(out)
	if err != nil {
		return none, fmt.Errorf("write the result: %w", err)
	}
	value, err := decoded(text)
	if err != nil {
		return none, err
	}
	if text, err = json.Marshal(screen.EachText(value, func(s string) string { return clipped(clean(s)) })); err != nil {
		return none, fmt.Errorf("write the result: %w", err)
	}
	if len(text) > maxResult {
		return none, wrong(fmt.Sprintf("the result has %d bytes, at most %d are sent", len(text), maxResult), "ask for less: a smaller limit, or one session or name")
	}
	var result Out
	if err := json.Unmarshal(text, &result); err != nil {
		return none, fmt.Errorf("write the result: %w", err)
	}
	return result, nil
}

// decoded returns JSON as maps, lists and texts, with numbers as written.
func decoded(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return value, nil
}
