package acp

// profile has the facts about a known agent that the protocol lacks. Versions other than the tested versions may differ
// in the names of modes and models, which the agent itself lists.
type profile struct {
	// agent is the agent's name in the configuration, title its display name.
	agent, title string
	// command is the agent's command line.
	command []string
	// install is the command that installs the agent.
	install string
	// login is the hint for an agent without a login.
	login string
	// keys are the variables, and logins the files, that are evidence of a login, as in cliagent.Login.
	keys, logins []string
	// mode is the mode for configurations without a mode; "" leaves the agent's own mode.
	mode string
	// modelFlag is the argument for the model, for agents without a choice in the protocol.
	modelFlag string
	// partialUsage is true if the agent reports the usage of its last step instead of the usage of the turn.
	partialUsage bool
	// unpriced is true if the agent reports no cost.
	unpriced bool
	// writes are the agent's own files, such as login and sessions, as in sdk.Needs.
	writes []string
	// nestedSandbox is true if the agent runs its commands in a sandbox of its own.
	nestedSandbox bool
}

// profiles are the agents that need no command line, in alphabetical order.
var profiles = []profile{
	{ // @agentclientprotocol/claude-agent-acp 0.100.0
		agent: "claude", title: "Claude Code", command: []string{"claude-agent-acp"},
		install: "npm install -g @agentclientprotocol/claude-agent-acp",
		login:   "log in: run claude and type /login, or set ANTHROPIC_API_KEY",
		keys:    []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
		logins:  []string{"${CLAUDE_CONFIG_DIR}/.credentials.json", "~/.claude/.credentials.json"},
		writes:  []string{"~/.claude", "~/.claude.json", "${CLAUDE_CONFIG_DIR}"},
	},
	{ // @agentclientprotocol/codex-acp 2.6.0; in its own default mode a model decides instead of the user
		agent: "codex", title: "OpenAI Codex", command: []string{"codex-acp"},
		install: "npm install -g @agentclientprotocol/codex-acp",
		login:   "log in: run codex login, or set OPENAI_API_KEY",
		keys:    []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		logins:  []string{"${CODEX_HOME}/auth.json", "~/.codex/auth.json"},
		mode:    "read-only", nestedSandbox: true, unpriced: true,
		writes: []string{"~/.codex", "${CODEX_HOME}"},
	},
	{ // @google/gemini-cli 0.61.0
		agent: "gemini", title: "Gemini CLI", command: []string{"gemini", "--acp", "--skip-trust"},
		install:   "npm install -g @google/gemini-cli",
		login:     "log in: run gemini and choose how, or set GEMINI_API_KEY and security.auth.selectedType in ~/.gemini/settings.json",
		keys:      []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		logins:    []string{"~/.gemini/oauth_creds.json"},
		modelFlag: "-m", unpriced: true,
		writes: []string{"~/.gemini"},
	},
	{ // opencode-ai 1.18.33
		agent: "opencode", title: "opencode", command: []string{"opencode", "acp"},
		install: "npm install -g opencode-ai",
		login:   "log in: run opencode auth login, or set the key of the model's provider", partialUsage: true,
		keys:   []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
		logins: []string{"${XDG_DATA_HOME}/opencode/auth.json", "~/.local/share/opencode/auth.json"},
		writes: []string{"~/.config/opencode", "~/.local/share/opencode", "~/.local/state/opencode", "~/.cache/opencode"},
	},
}

// findProfile returns the profile of an agent, nil for an unknown name.
func findProfile(agent string) *profile {
	for i := range profiles {
		if profiles[i].agent == agent {
			return &profiles[i]
		}
	}
	return nil
}

// agentNames returns the names of all known agents.
func agentNames() []string {
	words := make([]string, len(profiles))
	for i, p := range profiles {
		words[i] = p.agent
	}
	return words
}
