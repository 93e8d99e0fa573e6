package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// HookPB encodes a firing of a hook.
func HookPB(ref Ref, r sdk.HookRequest) *pb.HookRequest {
	return &pb.HookRequest{
		Component: RefPB(ref),
		Key:       text(r.Key),
		Point:     text(string(r.Point)),
		Session:   text(r.Session),
		Node:      text(r.Node),
		Stage:     text(r.Stage),
		Iteration: clampInt32(r.Iteration),
		Provider:  text(r.Provider),
		Status:    text(r.Status),
		Config:    jsonBytes(r.Config),
		Summary:   text(r.Summary),
		Result:    jsonBytes(r.Result),
		Artifact:  text(r.Artifact),
		Context:   text(r.Context),
		WorkDir:   text(r.WorkDir),
		Message:   text(r.Message),
		TimeoutMs: millis(r.Timeout),

		ArtifactFile: text(r.ArtifactFile), InputArtifactFile: text(r.InputArtifactFile), StartArtifactFile: text(r.StartArtifactFile),
		StageDir: text(r.StageDir),
	}
}

// FromHook decodes a firing of a hook.
func FromHook(m *pb.HookRequest) sdk.HookRequest {
	return sdk.HookRequest{
		Key:       m.GetKey(),
		Point:     sdk.HookPoint(m.GetPoint()),
		Session:   m.GetSession(),
		Node:      m.GetNode(),
		Stage:     m.GetStage(),
		Iteration: int(m.GetIteration()),
		Provider:  m.GetProvider(),
		Status:    m.GetStatus(),
		Config:    fromJSON(m.GetConfig()),
		Summary:   m.GetSummary(),
		Result:    fromJSON(m.GetResult()),
		Artifact:  m.GetArtifact(),
		Context:   m.GetContext(),
		WorkDir:   m.GetWorkDir(),
		Message:   m.GetMessage(),
		Timeout:   fromMillis(m.GetTimeoutMs()),

		ArtifactFile: m.GetArtifactFile(), InputArtifactFile: m.GetInputArtifactFile(), StartArtifactFile: m.GetStartArtifactFile(),
		StageDir: m.GetStageDir(),
	}
}

// AnswerPB encodes a hook's answer. The failure is sent separately.
func AnswerPB(a sdk.HookAnswer) *pb.HookResponse {
	return &pb.HookResponse{
		Action:  text(string(a.Action)),
		Reason:  text(a.Reason),
		Context: text(a.Context),
		Facts:   jsonBytes(a.Facts),
		Outcome: text(a.Outcome),
	}
}

// FromAnswer decodes a hook's answer. An unknown action means continue.
func FromAnswer(m *pb.HookResponse) sdk.HookAnswer {
	return sdk.HookAnswer{
		Action:  knownAction(m.GetAction()),
		Reason:  m.GetReason(),
		Context: m.GetContext(),
		Facts:   fromJSON(m.GetFacts()),
		Outcome: m.GetOutcome(),
	}
}

func knownAction(word string) sdk.Action {
	switch a := sdk.Action(word); a {
	case sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext:
		return a
	default:
		return sdk.ActionContinue
	}
}
