package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// Ref identifies the component of a request.
type Ref struct {
	Kind sdk.Kind
	Name string
}

// RefPB encodes a reference.
func RefPB(r Ref) *pb.ComponentRef {
	return &pb.ComponentRef{Kind: toEnum[pb.Kind](r.Kind), Name: text(r.Name)}
}

// FromRef decodes a reference. An unknown kind becomes "", which no component has.
func FromRef(m *pb.ComponentRef) Ref {
	return Ref{Kind: fromEnum(m.GetKind(), sdk.Kind("")), Name: m.GetName()}
}

// DescriptionPB encodes a plugin's description.
func DescriptionPB(d sdk.Description) *pb.DescribeResponse {
	return &pb.DescribeResponse{
		Name:       text(d.Name),
		Version:    text(d.Version),
		Protocols:  mapAll(d.Protocols, clampInt32),
		Sdk:        text(d.SDK),
		Mtls:       d.MTLS,
		Components: mapAll(d.Components, componentPB),
	}
}

// FromDescription decodes a description and drops components of unknown kinds.
func FromDescription(m *pb.DescribeResponse) sdk.Description {
	d := sdk.Description{
		Name:      m.GetName(),
		Version:   m.GetVersion(),
		Protocols: mapAll(m.GetProtocols(), func(n int32) int { return int(n) }),
		SDK:       m.GetSdk(),
		MTLS:      m.GetMtls(),
	}
	for _, c := range m.GetComponents() {
		if component := fromComponent(c); component.Kind != "" {
			d.Components = append(d.Components, component)
		}
	}
	return d
}

func componentPB(c sdk.Component) *pb.Component {
	return &pb.Component{
		Kind:         toEnum[pb.Kind](c.Kind),
		Name:         text(c.Name),
		Aliases:      texts(c.Aliases),
		Summary:      text(c.Summary),
		ConfigSchema: jsonBytes(c.ConfigSchema),
		Capabilities: texts(c.Capabilities),
		Concurrency:  toEnum[pb.Concurrency](c.Concurrency),
		Provider:     traitsPB(c.Provider),
		Needs:        needsPB(c.Needs),
	}
}

func fromComponent(m *pb.Component) sdk.Component {
	return sdk.Component{
		Kind:         fromEnum(m.GetKind(), sdk.Kind("")),
		Name:         m.GetName(),
		Aliases:      m.GetAliases(),
		Summary:      m.GetSummary(),
		ConfigSchema: fromJSON(m.GetConfigSchema()),
		Capabilities: m.GetCapabilities(),
		Concurrency:  fromEnum(m.GetConcurrency(), sdk.ConcurrencySafe),
		Provider:     fromTraits(m.GetProvider()),
		Needs:        fromNeeds(m.GetNeeds()),
	}
}

func needsPB(n *sdk.Needs) *pb.Needs {
	if n == nil {
		return nil
	}
	return &pb.Needs{Network: n.Network, Commands: n.Commands, Read: texts(n.Read), Write: texts(n.Write)}
}

func fromNeeds(m *pb.Needs) *sdk.Needs {
	if m == nil {
		return nil
	}
	return &sdk.Needs{Network: m.GetNetwork(), Commands: m.GetCommands(), Read: m.GetRead(), Write: m.GetWrite()}
}

func traitsPB(t *sdk.ProviderTraits) *pb.ProviderTraits {
	if t == nil {
		return nil
	}
	return &pb.ProviderTraits{
		Models:          texts(t.Models),
		DefaultModel:    text(t.DefaultModel),
		Locality:        toEnum[pb.Locality](t.Locality),
		GatedTools:      t.GatedTools,
		ReasoningEffort: t.ReasoningEffort,
		RequiresSandbox: t.RequiresSandbox,
		NestedSandbox:   t.NestedSandbox,
		ModelChoice:     toEnum[pb.ModelChoice](t.ModelChoice),
		Efforts:         texts(t.Efforts),
		DefaultEffort:   text(t.DefaultEffort),
		ObservedTools:   t.ObservedTools,
		Usage:           toEnum[pb.Reporting](t.Usage),
		Cost:            toEnum[pb.Reporting](t.Cost),
		Resume:          t.Resume,
		SoftCancel:      t.SoftCancel,
		ContextTokens:   t.ContextTokens,
	}
}

func fromTraits(m *pb.ProviderTraits) *sdk.ProviderTraits {
	if m == nil {
		return nil
	}
	t := sdk.ProviderTraits{
		Models:          m.GetModels(),
		DefaultModel:    m.GetDefaultModel(),
		Locality:        fromEnum(m.GetLocality(), sdk.LocalityRemote),
		GatedTools:      m.GetGatedTools(),
		ReasoningEffort: m.GetReasoningEffort(),
		RequiresSandbox: m.GetRequiresSandbox(),
		NestedSandbox:   m.GetNestedSandbox(),
		ModelChoice:     fromEnum(m.GetModelChoice(), sdk.ModelChoice("")),
		Efforts:         m.GetEfforts(),
		DefaultEffort:   m.GetDefaultEffort(),
		ObservedTools:   m.GetObservedTools(),
		Usage:           fromEnum(m.GetUsage(), sdk.ReportsNever),
		Cost:            fromEnum(m.GetCost(), sdk.ReportsNever),
		Resume:          m.GetResume(),
		SoftCancel:      m.GetSoftCancel(),
		ContextTokens:   max(0, m.GetContextTokens()),
	}.WithDefaults()
	return &t
}

// InitPB encodes a request of Init.
func InitPB(ref Ref, r sdk.InitRequest) *pb.InitRequest {
	return &pb.InitRequest{Component: RefPB(ref), WorkDir: text(r.WorkDir), RunMarker: text(r.RunMarker), Sandbox: text(r.Sandbox)}
}

// FromInit decodes a request of Init.
func FromInit(m *pb.InitRequest) sdk.InitRequest {
	return sdk.InitRequest{WorkDir: m.GetWorkDir(), RunMarker: m.GetRunMarker(), Sandbox: m.GetSandbox()}
}

// ValidatePB encodes a request of Validate.
func ValidatePB(ref Ref, r sdk.ValidateRequest) *pb.ValidateRequest {
	return &pb.ValidateRequest{Component: RefPB(ref), Model: text(r.Model), Config: jsonBytes(r.Config), Mode: text(string(r.Mode))}
}

// FromValidate decodes a request of Validate.
func FromValidate(m *pb.ValidateRequest) sdk.ValidateRequest {
	return sdk.ValidateRequest{Model: m.GetModel(), Config: fromJSON(m.GetConfig()), Mode: sdk.Mode(m.GetMode())}
}

// ExaminePB encodes a request of Examine.
func ExaminePB(ref Ref, r sdk.ValidateRequest) *pb.ExamineRequest {
	return &pb.ExamineRequest{Component: RefPB(ref), Model: text(r.Model), Config: jsonBytes(r.Config), Mode: text(string(r.Mode))}
}

// FromExamine decodes a request of Examine.
func FromExamine(m *pb.ExamineRequest) sdk.ValidateRequest {
	return sdk.ValidateRequest{Model: m.GetModel(), Config: fromJSON(m.GetConfig()), Mode: sdk.Mode(m.GetMode())}
}

// FindingPB encodes a finding.
func FindingPB(f sdk.Finding) *pb.Finding {
	return &pb.Finding{About: text(f.About), State: text(string(f.State)), Detail: text(f.Detail), Hint: text(f.Hint)}
}

// FromFinding decodes a finding.
func FromFinding(m *pb.Finding) sdk.Finding {
	return sdk.Finding{About: m.GetAbout(), State: sdk.FindingState(m.GetState()), Detail: m.GetDetail(), Hint: m.GetHint()}
}
