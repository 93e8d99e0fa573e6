package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// toEnum returns the wire value of an SDK value. A value without one is sent as the zero value,
// which the reader's fallback interprets.
func toEnum[W ~string, P ~int32](word W, pairs []pair[W, P]) P {
	for _, p := range pairs {
		if p.word == word {
			return p.value
		}
	}
	return 0
}

// fromEnum returns the SDK value of a wire value, or fallback.
func fromEnum[W ~string, P ~int32](value P, pairs []pair[W, P], fallback W) W {
	for _, p := range pairs {
		if p.value == value {
			return p.word
		}
	}
	return fallback
}

type pair[W ~string, P ~int32] struct {
	word  W
	value P
}

func kindPairs() []pair[sdk.Kind, pb.Kind] {
	return []pair[sdk.Kind, pb.Kind]{
		{sdk.KindProvider, pb.Kind_KIND_PROVIDER},
		{sdk.KindTermination, pb.Kind_KIND_TERMINATION},
		{sdk.KindHookAction, pb.Kind_KIND_HOOK_ACTION},
	}
}

func concurrencyPairs() []pair[sdk.Concurrency, pb.Concurrency] {
	return []pair[sdk.Concurrency, pb.Concurrency]{
		{sdk.ConcurrencySafe, pb.Concurrency_CONCURRENCY_SAFE},
		{sdk.ConcurrencySerial, pb.Concurrency_CONCURRENCY_SERIAL},
	}
}

func localityPairs() []pair[sdk.Locality, pb.Locality] {
	return []pair[sdk.Locality, pb.Locality]{
		{sdk.LocalityLocal, pb.Locality_LOCALITY_LOCAL},
		{sdk.LocalityRemote, pb.Locality_LOCALITY_REMOTE},
		{sdk.LocalityConfigured, pb.Locality_LOCALITY_CONFIGURED},
	}
}

func modelChoicePairs() []pair[sdk.ModelChoice, pb.ModelChoice] {
	return []pair[sdk.ModelChoice, pb.ModelChoice]{
		{sdk.ModelsAny, pb.ModelChoice_MODEL_CHOICE_ANY},
		{sdk.ModelsListed, pb.ModelChoice_MODEL_CHOICE_LISTED},
		{sdk.ModelsConfigurable, pb.ModelChoice_MODEL_CHOICE_CONFIGURABLE},
	}
}

func reportingPairs() []pair[sdk.Reporting, pb.Reporting] {
	return []pair[sdk.Reporting, pb.Reporting]{
		{sdk.ReportsNever, pb.Reporting_REPORTING_NEVER},
		{sdk.ReportsSome, pb.Reporting_REPORTING_SOME},
		{sdk.ReportsAlways, pb.Reporting_REPORTING_ALWAYS},
	}
}

func purposePairs() []pair[sdk.Purpose, pb.Purpose] {
	return []pair[sdk.Purpose, pb.Purpose]{
		{sdk.PurposeWork, pb.Purpose_PURPOSE_WORK},
		{sdk.PurposeQuestion, pb.Purpose_PURPOSE_QUESTION},
	}
}

func streamPairs() []pair[sdk.Stream, pb.Stream] {
	return []pair[sdk.Stream, pb.Stream]{
		{sdk.StreamText, pb.Stream_STREAM_TEXT},
		{sdk.StreamRaw, pb.Stream_STREAM_RAW},
		{sdk.StreamStderr, pb.Stream_STREAM_STDERR},
	}
}

func effectPairs() []pair[sdk.Effect, pb.Effect] {
	return []pair[sdk.Effect, pb.Effect]{
		{sdk.EffectNone, pb.Effect_EFFECT_NONE},
		{sdk.EffectIdempotent, pb.Effect_EFFECT_IDEMPOTENT},
		{sdk.EffectOnce, pb.Effect_EFFECT_ONCE},
	}
}

func toolStatusPairs() []pair[sdk.ToolStatus, pb.ToolStatus] {
	return []pair[sdk.ToolStatus, pb.ToolStatus]{
		{sdk.ToolSuccess, pb.ToolStatus_TOOL_STATUS_SUCCESS},
		{sdk.ToolError, pb.ToolStatus_TOOL_STATUS_ERROR},
		{sdk.ToolTimeout, pb.ToolStatus_TOOL_STATUS_TIMEOUT},
		{sdk.ToolDenied, pb.ToolStatus_TOOL_STATUS_DENIED},
	}
}

func verdictPairs() []pair[sdk.VerdictAction, pb.VerdictAction] {
	return []pair[sdk.VerdictAction, pb.VerdictAction]{
		{sdk.VerdictRun, pb.VerdictAction_VERDICT_ACTION_RUN},
		{sdk.VerdictDeny, pb.VerdictAction_VERDICT_ACTION_DENY},
		{sdk.VerdictSkip, pb.VerdictAction_VERDICT_ACTION_SKIP},
		{sdk.VerdictUse, pb.VerdictAction_VERDICT_ACTION_USE},
	}
}

func outcomePairs() []pair[sdk.Outcome, pb.Outcome] {
	return []pair[sdk.Outcome, pb.Outcome]{
		{sdk.OutcomeSucceeded, pb.Outcome_OUTCOME_SUCCEEDED},
		{sdk.OutcomeFailed, pb.Outcome_OUTCOME_FAILED},
		{sdk.OutcomeEmpty, pb.Outcome_OUTCOME_EMPTY},
		{sdk.OutcomePermissionDenied, pb.Outcome_OUTCOME_PERMISSION_DENIED},
		{sdk.OutcomeRateLimited, pb.Outcome_OUTCOME_RATE_LIMITED},
		{sdk.OutcomeNeedsPerson, pb.Outcome_OUTCOME_NEEDS_PERSON},
		{sdk.OutcomeInfrastructure, pb.Outcome_OUTCOME_INFRASTRUCTURE},
	}
}

func decisionPairs() []pair[sdk.DecisionAction, pb.DecisionAction] {
	return []pair[sdk.DecisionAction, pb.DecisionAction]{
		{sdk.DecisionContinue, pb.DecisionAction_DECISION_ACTION_CONTINUE},
		{sdk.DecisionStop, pb.DecisionAction_DECISION_ACTION_STOP},
		{sdk.DecisionError, pb.DecisionAction_DECISION_ACTION_ERROR},
		{sdk.DecisionAsk, pb.DecisionAction_DECISION_ACTION_ASK},
	}
}
