package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// StartPB encodes the request of an attempt.
func StartPB(ref Ref, r sdk.ExecuteRequest) *pb.ExecuteStart {
	return &pb.ExecuteStart{
		Component:     RefPB(ref),
		Key:           text(r.Key),
		Epoch:         int64(r.Epoch),
		Session:       text(r.Session),
		Node:          text(r.Node),
		Stage:         text(r.Stage),
		Iteration:     clampInt32(r.Iteration),
		Attempt:       clampInt32(r.Attempt),
		Visit:         clampInt32(r.Visit),
		Purpose:       toEnum[pb.Purpose](r.Purpose),
		Prompt:        text(r.Prompt),
		Model:         text(r.Model),
		Config:        jsonBytes(r.Config),
		WorkDir:       text(r.WorkDir),
		Environment:   textMap(r.Environment),
		Paths:         pathsPB(r.Paths),
		TimeoutMs:     millis(r.Timeout),
		IdleTimeoutMs: millis(r.IdleTimeout),
		GraceMs:       millis(r.Grace),
		Resume:        resumePB(r.Resume),
		Budget:        budgetPB(r.Budget),
		Mode:          text(string(r.Mode)),
		Tools:         toolLimitsPB(r.Tools),
		MaxTurns:      clampInt32(r.MaxTurns),
		StepId:        text(r.StepID),
		Step:          jsonBytes(r.Step),

		ArtifactSchema: jsonBytes(r.ArtifactSchema),
		Contract:       r.Contract,
		ArtifactTool:   text(r.ArtifactTool),
		Run:            text(r.Run),
		Input:          jsonBytes(r.Input),
	}
}

// FromStart decodes the request of an attempt.
func FromStart(m *pb.ExecuteStart) sdk.ExecuteRequest {
	r := sdk.ExecuteRequest{
		Key:         m.GetKey(),
		Epoch:       int(m.GetEpoch()),
		Session:     m.GetSession(),
		Node:        m.GetNode(),
		Stage:       m.GetStage(),
		Iteration:   int(m.GetIteration()),
		Attempt:     int(m.GetAttempt()),
		Visit:       int(m.GetVisit()),
		Purpose:     fromEnum(m.GetPurpose(), sdk.PurposeWork),
		Prompt:      m.GetPrompt(),
		Model:       m.GetModel(),
		Config:      fromJSON(m.GetConfig()),
		WorkDir:     m.GetWorkDir(),
		Environment: textMap(m.GetEnvironment()),
		Paths:       fromPaths(m.GetPaths()),
		Timeout:     fromMillis(m.GetTimeoutMs()),
		IdleTimeout: fromMillis(m.GetIdleTimeoutMs()),
		Grace:       fromMillis(m.GetGraceMs()),
		Resume:      fromResume(m.GetResume()),
		Budget:      fromBudget(m.GetBudget()),
		Mode:        sdk.Mode(m.GetMode()),
		Tools:       fromToolLimits(m.GetTools()),
		MaxTurns:    int(m.GetMaxTurns()),
		StepID:      m.GetStepId(),
		Step:        fromJSON(m.GetStep()),

		ArtifactSchema: fromJSON(m.GetArtifactSchema()),
		Contract:       m.GetContract(),
		ArtifactTool:   m.GetArtifactTool(),
		Run:            m.GetRun(),
		Input:          fromJSON(m.GetInput()),
	}
	return r
}

func pathsPB(p sdk.Paths) *pb.Paths {
	return &pb.Paths{
		Context:  text(p.Context),
		Status:   text(p.Status),
		Result:   text(p.Result),
		Progress: text(p.Progress),
		Output:   text(p.Output),
		Attempt:  text(p.Attempt),
		Artifact: text(p.Artifact),

		InputArtifact: text(p.InputArtifact),
	}
}

func fromPaths(m *pb.Paths) sdk.Paths {
	return sdk.Paths{
		Context:  m.GetContext(),
		Status:   m.GetStatus(),
		Result:   m.GetResult(),
		Progress: m.GetProgress(),
		Output:   m.GetOutput(),
		Attempt:  m.GetAttempt(),
		Artifact: m.GetArtifact(),

		InputArtifact: m.GetInputArtifact(),
	}
}

func toolLimitsPB(t sdk.ToolLimits) *pb.ToolLimits {
	if t.AllowedCommands == nil && t.CommandTimeout == 0 && t.MaxResultTokens == 0 && len(t.Protected) == 0 {
		return nil
	}
	m := &pb.ToolLimits{CommandTimeoutMs: millis(t.CommandTimeout), MaxResultTokens: clampInt32(t.MaxResultTokens), Protected: texts(t.Protected)}
	if t.AllowedCommands != nil {
		m.AllowedCommands = &pb.CommandList{Names: texts(t.AllowedCommands)}
	}
	return m
}

func fromToolLimits(m *pb.ToolLimits) sdk.ToolLimits {
	t := sdk.ToolLimits{CommandTimeout: fromMillis(m.GetCommandTimeoutMs()), MaxResultTokens: int(m.GetMaxResultTokens()), Protected: m.GetProtected()}
	if list := m.GetAllowedCommands(); list != nil {
		t.AllowedCommands = append([]string{}, list.GetNames()...)
	}
	return t
}

func resumePB(r *sdk.Resume) *pb.Resume {
	if r == nil {
		return nil
	}
	return &pb.Resume{
		Checkpoint: CheckpointPB(r.Checkpoint),
		Calls: mapAll(r.Calls, func(c sdk.ResumedCall) *pb.ResumedCall {
			return &pb.ResumedCall{Call: CallPB(c.Call), Result: resultPtrPB(c.Result)}
		}),
	}
}

func fromResume(m *pb.Resume) *sdk.Resume {
	if m == nil {
		return nil
	}
	return &sdk.Resume{
		Checkpoint: FromCheckpoint(m.GetCheckpoint()),
		Calls: mapAll(m.GetCalls(), func(c *pb.ResumedCall) sdk.ResumedCall {
			return sdk.ResumedCall{Call: FromCall(c.GetCall()), Result: fromResultPtr(c.GetResult())}
		}),
	}
}

func budgetPB(b *sdk.Budget) *pb.Budget {
	if b == nil {
		return nil
	}
	return &pb.Budget{MaxUsd: b.MaxUSD, MaxTokens: b.MaxTokens}
}

func fromBudget(m *pb.Budget) *sdk.Budget {
	if m == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: m.MaxUsd, MaxTokens: m.MaxTokens}
}

// ResultPB encodes the result of an attempt.
func ResultPB(r sdk.ExecuteResult) *pb.ExecuteResult {
	return &pb.ExecuteResult{
		Output:       []byte(r.Output),
		Outcome:      toEnum[pb.Outcome](r.Outcome),
		ExitCode:     clampInt32(r.ExitCode),
		DurationMs:   millis(r.Duration),
		Usage:        usagePtrPB(r.Usage),
		Model:        text(r.Model),
		AgentVersion: text(r.AgentVersion),
		Conversation: text(r.Conversation),
		Failure:      FailurePB(r.Error),
	}
}

// FromResult decodes the result of an attempt. An unset outcome follows from the failure; an
// unknown one counts as failed, because success is never guessed.
func FromResult(m *pb.ExecuteResult) sdk.ExecuteResult {
	r := sdk.ExecuteResult{
		Output:       string(m.GetOutput()),
		Outcome:      fromEnum(m.GetOutcome(), sdk.OutcomeFailed),
		ExitCode:     int(m.GetExitCode()),
		Duration:     fromMillis(m.GetDurationMs()),
		Usage:        fromUsagePtr(m.GetUsage()),
		Model:        m.GetModel(),
		AgentVersion: m.GetAgentVersion(),
		Conversation: m.GetConversation(),
		Error:        FromFailure(m.GetFailure()),
	}
	if m.GetOutcome() == pb.Outcome_OUTCOME_UNSPECIFIED && r.Error == nil {
		r.Outcome = sdk.OutcomeSucceeded
	}
	return r
}
