# Completion of agent-pipelines for bash, also the 3.2 of macOS. To have it in every shell, put this line into ~/.bashrc:
#   source <(agent-pipelines completion bash)

_agent_pipelines() {
	local word=${COMP_WORDS[COMP_CWORD]} line value
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			[[ $word == = ]] && word=
			compopt -o filenames 2>/dev/null # 3.2 has no compopt
			while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$word")
			return
		fi
		value=${line%%$'\t'*}
		[[ $value == --*=* ]] && value=${value#*=} # bash takes the flag and "=" for words of their own
		COMPREPLY+=("$(printf '%q' "$value")")
	done < <(command agent-pipelines __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _agent_pipelines agent-pipelines
