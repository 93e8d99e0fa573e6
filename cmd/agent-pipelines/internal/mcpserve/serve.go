package mcpserve

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client until in or ctx ends, and returns after every call has returned. Sessions that it started continue.
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
	s.addTools(m)
	err := m.Run(ctx, &stdio{in: in, out: out, onClose: leave})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil // serving ends normally
	}
	return err
}

// addTools adds the tools that the level allows: to read, to run and stop sessions, and to answer in the user's name.
func (s *server) addTools(m *mcp.Server) {
	add(s, m, (*server).listSessions, tool{"list_sessions", "List sessions", reads, "Lists the sessions of the project, the most recently changed first, with their status, the stage they are at and the questions they wait for."})
	add(s, m, (*server).listPipelines, tool{"list_pipelines", "List pipelines and stages", reads, "Lists the pipelines and stages that can be started: the project's and the shipped ones. Runs nothing."})
	add(s, m, (*server).lint, tool{"lint", "Check pipelines and stages", reads, "Checks pipelines and stages: all faults that a start would refuse, and probable mistakes. Without names: all of the project. Runs nothing."})
	add(s, m, (*server).dryRun, tool{"dry_run", "Preview a run", reads, "Previews a start with the same arguments: the plan, the prompts, the path through the pipeline. Calls no agent and writes nothing. assume sets the outcomes of nodes."})
	add(s, m, (*server).status, tool{"status", "Show a session's status", reads, "Shows where a session is and the possible next steps. With wait_seconds it first waits until the session rests (paused, completed, failed, aborted) or asks something; with a progress token, each event is reported meanwhile."})
	add(s, m, (*server).why, tool{"why", "Explain why a session is where it is", reads, "Explains why a session is where it is: one sentence, the causes (the newest first), and the commands to continue."})
	add(s, m, (*server).events, tool{"events", "Read a session's events", reads, "Reads the events of a session's journal after a number, the oldest first. With wait_seconds it waits for the next one where there is none yet and a process works on the session. Continue with after = last."})
	add(s, m, (*server).questions, tool{"questions", "Show open questions", reads, "Shows the open questions of a session, or of all: each with a preview of its subject, and the digest that an answer needs."})
	add(s, m, (*server).artifacts, tool{"artifacts", "List a session's artifacts", reads, "Lists the artifacts of a session: the newest version of each node, or all versions."})
	add(s, m, (*server).readArtifact, tool{"read_artifact", "Read an artifact", reads, "Reads the newest artifact of a node, as YAML with its envelope, 64 KiB at most at once: continue with offset = next_offset."})
	if s.Level.runs() {
		add(s, m, (*server).start, tool{"start", "Start a session", startsWork, "Starts a pipeline or a stage as a session in the background and returns as soon as it has begun. The session continues without this client. Agents of the session work in the project's directory with the user's rights: it may cost money and change files."})
		add(s, m, (*server).resume, tool{"resume", "Resume a session", startsWork, "Resumes a paused, failed or crashed session in the background. One that waits for an answer needs that first."})
		add(s, m, (*server).pause, tool{"pause", "Pause a session", addsOnce, "Asks the process of a session to pause it after the current iteration. resume continues."})
		add(s, m, (*server).abort, tool{"abort", "End a session for good", takesAway, "Ends a session for good: the iteration that runs is cancelled, and it cannot be resumed."})
	}
	if s.Level.approves() {
		add(s, m, (*server).approve, tool{"approve", "Approve the subject of a question", adds, "Answers a question with yes, in the user's name, and resumes the session in the background. The digest is that of the question as you saw it: an answer to something that has changed since is refused."})
		add(s, m, (*server).reject, tool{"reject", "Reject the subject of a question", takesAway, "Answers a question with no, in the user's name. With feedback the stage is sent back with it, or the agent receives it; end_session says instead that the session is to end for good."})
		add(s, m, (*server).skipCall, tool{"skip_call", "Leave out a tool call", adds, "Answers a question about a tool call of an agent (kind tool): the call is not made, and the agent continues without it."})
	}
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

// instructions returns the text for the model of the client.
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
