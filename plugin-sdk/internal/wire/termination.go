package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// DecidePB encodes the request of a decision.
func DecidePB(ref Ref, r sdk.DecideRequest) *pb.DecideRequest {
	return &pb.DecideRequest{
		Component: RefPB(ref),
		Session:   text(r.Session),
		Node:      text(r.Node),
		Stage:     text(r.Stage),
		Iteration: clampInt32(r.Iteration),
		Max:       clampInt32(r.Max),
		Config:    jsonBytes(r.Config),
		Result:    jsonBytes(r.Result),
		Hint:      text(r.Hint),
		History:   mapAll(r.History, pastPB),
		Outputs:   mapAll(r.Outputs, fileRefPB),
		Progress:  fileRefPB(r.Progress),
		Checks:    mapAll(r.Checks, jsonBytes),
		State:     jsonBytes(r.State),
		Round:     clampInt32(r.Round),
		Answer:    answerPB(r.Answer),
		WorkDir:   text(r.WorkDir),
	}
}

// FromDecide decodes the request of a decision.
func FromDecide(m *pb.DecideRequest) sdk.DecideRequest {
	return sdk.DecideRequest{
		Session:   m.GetSession(),
		Node:      m.GetNode(),
		Stage:     m.GetStage(),
		Iteration: int(m.GetIteration()),
		Max:       int(m.GetMax()),
		Config:    fromJSON(m.GetConfig()),
		Result:    fromJSON(m.GetResult()),
		Hint:      m.GetHint(),
		History:   mapAll(m.GetHistory(), fromPast),
		Outputs:   mapAll(m.GetOutputs(), fromFileRef),
		Progress:  fromFileRef(m.GetProgress()),
		Checks:    mapAll(m.GetChecks(), fromJSON),
		State:     fromJSON(m.GetState()),
		Round:     int(m.GetRound()),
		Answer:    fromAnswer(m.GetAnswer()),
		WorkDir:   m.GetWorkDir(),
	}
}

func pastPB(d sdk.PastDecision) *pb.PastDecision {
	return &pb.PastDecision{
		Iteration: clampInt32(d.Iteration),
		Hint:      text(d.Hint),
		Action:    toEnum[pb.DecisionAction](d.Action),
		Reason:    text(d.Reason),
	}
}

func fromPast(m *pb.PastDecision) sdk.PastDecision {
	return sdk.PastDecision{
		Iteration: int(m.GetIteration()),
		Hint:      m.GetHint(),
		Action:    fromEnum(m.GetAction(), sdk.DecisionContinue),
		Reason:    m.GetReason(),
	}
}

func fileRefPB(f sdk.FileRef) *pb.FileRef {
	return &pb.FileRef{Path: text(f.Path), Sha256: text(f.SHA256), Size: f.Size}
}

func fromFileRef(m *pb.FileRef) sdk.FileRef {
	return sdk.FileRef{Path: m.GetPath(), SHA256: m.GetSha256(), Size: m.GetSize()}
}

func answerPB(a *sdk.Answer) *pb.Answer {
	if a == nil {
		return nil
	}
	return &pb.Answer{Output: text(a.Output), Error: text(a.Error)}
}

func fromAnswer(m *pb.Answer) *sdk.Answer {
	if m == nil {
		return nil
	}
	return &sdk.Answer{Output: m.GetOutput(), Error: m.GetError()}
}

// DecisionPB encodes a decision. The failure is sent separately.
func DecisionPB(d sdk.Decision) *pb.DecideResponse {
	m := &pb.DecideResponse{
		Action:     toEnum[pb.DecisionAction](d.Action),
		Reason:     text(d.Reason),
		Confidence: d.Confidence,
		State:      jsonBytes(d.State),
		Record:     jsonBytes(d.Record),
	}
	if q := d.Question; q != nil {
		m.Question = &pb.Question{Prompt: text(q.Prompt), Provider: text(q.Provider), Model: text(q.Model)}
	}
	return m
}

// FromDecision decodes a decision. Its confidence is clamped to 0 to 1.
func FromDecision(m *pb.DecideResponse) sdk.Decision {
	d := sdk.Decision{
		Action:     fromEnum(m.GetAction(), sdk.DecisionContinue),
		Reason:     m.GetReason(),
		Confidence: min(1, finite(m.GetConfidence())),
		State:      fromJSON(m.GetState()),
		Record:     fromJSON(m.GetRecord()),
	}
	if q := m.GetQuestion(); q != nil {
		d.Question = &sdk.Question{Prompt: q.GetPrompt(), Provider: q.GetProvider(), Model: q.GetModel()}
	}
	return d
}

// ReleasePB encodes the request to release a session's resources.
func ReleasePB(ref Ref, session string) *pb.ReleaseRequest {
	return &pb.ReleaseRequest{Component: RefPB(ref), Session: text(session)}
}
