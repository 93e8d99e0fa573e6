package trace

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// These are the attributes of spans. Our own begin with agent_pipelines; gen_ai and error.type are from the
// OpenTelemetry semantic conventions (GenAI, as of 1.41). None contains a text of an agent, a prompt or a user. Metrics
// use the exported keys, too.
const (
	keySession      = attribute.Key("agent_pipelines.session")
	keyRunID        = attribute.Key("agent_pipelines.run_id")
	KeyPipeline     = attribute.Key("agent_pipelines.pipeline")
	keyMode         = attribute.Key("agent_pipelines.mode")
	KeyStatus       = attribute.Key("agent_pipelines.status")
	KeyNode         = attribute.Key("agent_pipelines.node.id")
	keyPath         = attribute.Key("agent_pipelines.node.path")
	keyKind         = attribute.Key("agent_pipelines.node.kind")
	keyVisit        = attribute.Key("agent_pipelines.visit")
	keyRun          = attribute.Key("agent_pipelines.run")
	keyBranch       = attribute.Key("agent_pipelines.provider")
	keyStep         = attribute.Key("agent_pipelines.step")
	keyIteration    = attribute.Key("agent_pipelines.iteration")
	keyAttempt      = attribute.Key("agent_pipelines.attempt")
	keyEpoch        = attribute.Key("agent_pipelines.epoch")
	KeyOutcome      = attribute.Key("agent_pipelines.outcome")
	keyDecision     = attribute.Key("agent_pipelines.decision")
	keyTo           = attribute.Key("agent_pipelines.to")
	keyEdge         = attribute.Key("agent_pipelines.edge")
	keyCycle        = attribute.Key("agent_pipelines.cycle")
	keyStrategy     = attribute.Key("agent_pipelines.strategy")
	keyHook         = attribute.Key("agent_pipelines.hook.point")
	keyAction       = attribute.Key("agent_pipelines.hook.action")
	keyAnswer       = attribute.Key("agent_pipelines.answer")
	keyCheck        = attribute.Key("agent_pipelines.check")
	keyPassed       = attribute.Key("agent_pipelines.check.passed")
	keyVerdict      = attribute.Key("agent_pipelines.tool.verdict")
	keyObserved     = attribute.Key("agent_pipelines.tool.observed")
	keyQuestion     = attribute.Key("agent_pipelines.question")
	KeyQuestionKind = attribute.Key("agent_pipelines.question.kind")
	KeyRung         = attribute.Key("agent_pipelines.rung")
	keyCost         = attribute.Key("agent_pipelines.cost_usd")
	KeyError        = attribute.Key("error.type")

	keyOperation  = attribute.Key("gen_ai.operation.name")
	keyProvider   = attribute.Key("gen_ai.provider.name")
	KeyAgent      = attribute.Key("gen_ai.agent.name")
	keyVersion    = attribute.Key("gen_ai.agent.version")
	KeyModel      = attribute.Key("gen_ai.request.model")
	keyModelUsed  = attribute.Key("gen_ai.response.model")
	keyInput      = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput     = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead  = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyReasoning  = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyWorkflow   = attribute.Key("gen_ai.workflow.name")
	keyTool       = attribute.Key("gen_ai.tool.name")
	keyCall       = attribute.Key("gen_ai.tool.call.id")
)

// usageAttributes returns the attributes of the known values of a usage.
func usageAttributes(u *event.Usage) []attribute.KeyValue {
	if u == nil {
		return nil
	}
	var all []attribute.KeyValue
	for _, count := range []struct {
		key   attribute.Key
		value *int64
	}{
		{keyInput, u.InputTokens},
		{keyOutput, u.OutputTokens},
		{keyCacheRead, u.CacheReadTokens},
		{keyCacheWrite, u.CacheWriteTokens},
		{keyReasoning, u.ReasoningTokens},
	} {
		if count.value != nil {
			all = append(all, count.key.Int64(*count.value))
		}
	}
	if u.CostUSD != nil {
		all = append(all, keyCost.Float64(*u.CostUSD))
	}
	return all
}
