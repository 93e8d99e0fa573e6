# Completion of agent-pipelines for fish. To have it in every shell:
#   agent-pipelines completion fish > ~/.config/fish/completions/agent-pipelines.fish

function __agent_pipelines_complete
	set -l words (commandline --tokens-expanded --cut-at-cursor 2>/dev/null; or commandline --tokenize --cut-at-cursor)
	set -l current (commandline --current-token --cut-at-cursor)
	set -l found (command agent-pipelines __complete -- $words[2..] "$current" 2>/dev/null)
	if test "$found[1]" = :files
		set -l flag (string match --regex '^--[^=]*=' -- "$current")
		__fish_complete_path (string replace -- "$flag" '' "$current") | string replace --regex '^' -- "$flag"
	else
		string join \n -- $found
	end
end

complete --command agent-pipelines --no-files --arguments '(__agent_pipelines_complete)'
