#!/bin/sh
# Replaces the Bash engine's scripts/run.sh, so that users, aliases and other scripts that call
# it reach agent-pipelines instead. See docs/migrating-from-bash.md.
#
#   AGENT_PIPELINES_BIN   the command; default: agent-pipelines, as the PATH finds it
#   AGENT_PIPELINES_ROOT  the folder whose scripts/stages and scripts/pipelines are shared; default: the
#                         parent of this script's folder
#   AGENT_PIPELINES_GO    0: run run-bash.sh in this script's folder, the Bash engine's own, for this once
set -eu

self=$0
while [ -h "$self" ]; do
	to=$(readlink "$self")
	case $to in
	/*) self=$to ;;
	*) self=$(dirname "$self")/$to ;;
	esac
done
here=$(CDPATH='' cd -P "$(dirname "$self")" && pwd)

if [ "${AGENT_PIPELINES_GO:-1}" = 0 ]; then
	if [ -f "$here/run-bash.sh" ]; then
		exec bash "$here/run-bash.sh" "$@"
	fi
	echo "$0: AGENT_PIPELINES_GO=0 asks for the Bash engine, but $here/run-bash.sh is not there; put its run.sh there under that name, or unset the variable" >&2
	exit 127
fi

if [ -n "${AGENT_PIPELINES_BIN:-}" ]; then
	bin=$AGENT_PIPELINES_BIN
	if ! command -v "$bin" >/dev/null; then
		echo "$0: AGENT_PIPELINES_BIN names $bin, which is no program that can be started; correct it, or unset it to look along the PATH" >&2
		exit 127
	fi
elif ! bin=$(command -v agent-pipelines); then
	echo "$0: agent-pipelines is not on the PATH; install it (go install github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines@latest), or name it with AGENT_PIPELINES_BIN" >&2
	exit 127
fi

AGENT_PIPELINES_ROOT=${AGENT_PIPELINES_ROOT:-$(dirname "$here")}
export AGENT_PIPELINES_ROOT
exec "$bin" "$@"
