#compdef agent-pipelines
# Completion of agent-pipelines for zsh. To have it in every shell, put this line into ~/.zshrc, below compinit:
#   source <(agent-pipelines completion zsh)
# or keep this file as _agent-pipelines in a directory of $fpath.

_agent_pipelines() {
	local line value
	local -a candidates
	for line in "${(@f)$(command agent-pipelines __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
			'') ;;
			:files) _files; return ;;
			*)
				value=${${line%%$'\t'*}//:/\\:}
				if [[ $line == *$'\t'* ]]; then value+=":${line#*$'\t'}"; fi
				candidates+=("$value")
				;;
		esac
	done
	_describe -t agent-pipelines agent-pipelines candidates
}

if [[ ${funcstack[1]} == _agent-pipelines ]]; then
	_agent_pipelines "$@"
else
	compdef _agent_pipelines agent-pipelines
fi
