package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxTurns limits the turns of an attempt. Each turn after the first gives the agent the reasons of refusals.
const maxTurns = 10

// attempt is one conversation with an agent. The fields in the last group belong to [attempt.run], and may be read
// after run has returned.
type attempt struct {
	setup
	req        sdk.ExecuteRequest
	x          sdk.Exchange
	startLimit time.Duration
	peer       *peer
	report     *report
	waitTime   stopwatch
	ctx        context.Context //nolint:containedctx // ends when the agent's requests need no answer
	cancel     context.CancelCauseFunc

	session    protocol.SessionId
	version    string
	model      string              // the agent's name for the current model
	stopReason protocol.StopReason // of the last turn; "" before the first one
	err        error               // the error that ended the conversation
}

// checkpoint is the saved state of an attempt: the session to resume.
type checkpoint struct {
	Session protocol.SessionId `json:"session"`
}

// run performs the whole conversation. It is the Talk function of the agent's command.
func (a *attempt) run(t cliagent.Talk) {
	var stopping sync.WaitGroup
	done := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-t.Stop:
			a.cancel(errors.New("the attempt is over"))
		case <-done:
		}
	})
	a.peer.attach(t.Stdin)
	a.err = a.converse(t)
	close(done)
	stopping.Wait()
	a.cancel(errors.New("the agent has done its work"))
	a.peer.answers.Wait()
}

func (a *attempt) converse(t cliagent.Talk) error {
	prompt, err := a.startSession(t)
	if err != nil {
		return err
	}
	for range maxTurns {
		if err := a.runTurn(t, prompt); err != nil {
			return err
		}
		if prompt = a.report.refusalPrompt(a.stopReason == protocol.StopReasonCancelled); prompt == "" {
			return nil
		}
	}
	return nil
}

// startSession prepares the agent for its prompt, and returns the prompt.
func (a *attempt) startSession(t cliagent.Talk) (string, error) {
	late := failure.New(failure.ProviderTimeout, "%s was not ready for a prompt within %s", a.title, a.startLimit).
		WithHint("start it by hand to see what it waits for; it must speak the Agent Client Protocol on stdin and stdout")
	ctx, cancel := context.WithTimeoutCause(a.ctx, a.startLimit, late)
	defer cancel()
	ask := func(method string, params, result any) error {
		return a.peer.call(ctx, t.StdoutEnded, method, params, result)
	}

	var agent initializeResult
	err := ask(protocol.AgentMethodInitialize, protocol.InitializeRequest{
		ProtocolVersion: protocol.ProtocolVersionNumber,
		ClientInfo:      &protocol.Implementation{Name: "agent-pipelines", Version: "1"},
	}, &agent)
	if err != nil {
		return "", err
	}
	if agent.ProtocolVersion != protocol.ProtocolVersionNumber {
		return "", failure.New(failure.ConfigInvalid, "%s speaks version %d of the Agent Client Protocol, not %d", a.title, agent.ProtocolVersion, protocol.ProtocolVersionNumber).
			WithHint("install another version of the agent")
	}
	a.version = agent.Agent.Version
	s := &session{ask: ask, title: a.title}
	prompt, err := a.openSession(ctx, s, agent.Capabilities)
	if err != nil {
		return "", err
	}
	a.session = s.ID
	if err := s.configure(a.setup, a.req.Model); err != nil {
		return "", err
	}
	a.model = s.model()
	return prompt, nil
}

// openSession resumes the session of an interrupted attempt, or creates one, and returns the prompt.
func (a *attempt) openSession(ctx context.Context, s *session, can capabilities) (string, error) {
	before := a.earlierSession()
	if before != "" {
		taken, err := s.resume(before, a.req.WorkDir, can)
		if taken || err != nil {
			return resumePreamble + a.req.Prompt, err
		}
	}
	if err := s.create(a.req.WorkDir); err != nil {
		return "", err
	}
	if !can.Load && can.Sessions.Resume == nil {
		return a.req.Prompt, nil
	}
	blob, err := json.Marshal(checkpoint{Session: s.ID})
	if err != nil {
		return "", err
	}
	return a.req.Prompt, a.x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: blob})
}

// resumePreamble precedes the task in a resumed session.
const resumePreamble = "Your work on the task below was interrupted. Check what is done already, do nothing twice, and continue from there.\n\n"

// earlierSession returns the session of the interrupted attempt, "" if there is none.
func (a *attempt) earlierSession() protocol.SessionId {
	var c checkpoint
	if a.req.Resume == nil || json.Unmarshal(a.req.Resume.Checkpoint.Blob, &c) != nil {
		return ""
	}
	return c.Session
}

// runTurn sends a prompt and waits for the end of the agent's turn. If the attempt is cancelled, the agent gets a
// cancellation, and runTurn still waits for the answer until the agent's stdout ends.
func (a *attempt) runTurn(t cliagent.Talk, prompt string) error {
	a.stopReason = ""
	a.report.startTurn()
	answer, err := a.peer.send(protocol.AgentMethodSessionPrompt, protocol.PromptRequest{
		SessionId: a.session, Prompt: []protocol.ContentBlock{protocol.TextBlock(prompt)},
	})
	if err != nil {
		return errGone
	}
	cancelled := a.ctx.Done()
	for {
		select {
		case m := <-answer:
			return a.endTurn(m)
		case <-cancelled:
			cancelled = nil
			_ = a.peer.sendCall(protocol.AgentMethodSessionCancel, protocol.CancelNotification{SessionId: a.session}, nil)
			continue
		case <-t.StdoutEnded:
		}
		select { // the answer may have arrived just before
		case m := <-answer:
			return a.endTurn(m)
		default:
			return errGone
		}
	}
}

// endTurn records the answer to a prompt.
func (a *attempt) endTurn(m message) error {
	var end turnEnd
	if err := m.decodeResult(&end); err != nil {
		return err
	}
	if end.Reason == "" {
		return fmt.Errorf("%s ended its turn without a reason", a.title)
	}
	a.stopReason = end.Reason
	a.report.endTurn(end)
	return nil
}

// handleNotification handles a notification of the agent.
func (a *attempt) handleNotification(method string, params json.RawMessage) {
	if method == protocol.ClientMethodSessionUpdate {
		a.report.update(params)
	}
}
