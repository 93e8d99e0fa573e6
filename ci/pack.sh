#!/usr/bin/env bash
# Puts into the directory AP_KEEP what another machine needs to go on with the session AP_SESSION: its directory, and what was
# changed in the repository since the commit AP_BASE, committed or not. Ignored files stay behind.
set -euo pipefail

session=${AP_SESSION:?the name of the session is missing}
keep=${AP_KEEP:?the directory that keeps the session is missing}
runs=.claude/pipeline-runs
mkdir -p "$keep"
rm -f "$keep/session.tar.gz" "$keep/workspace.bundle" "$keep/branch" "$keep/place"

if [ ! -d "$runs/$session" ]; then
  echo "session '$session' never began: there is nothing to keep" >&2
  exit 0
fi
pwd -P >"$keep/place"
tar -czf "$keep/session.tar.gz" "$runs/$session"

if ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "this is no git repository with a commit: changes of its files are not kept" >&2
  exit 0
fi
# A commit of all that is there, beside the branch: neither the index nor a branch is touched.
index=$(mktemp)
trap 'rm -f "$index"' EXIT
cp "$(git rev-parse --git-path index)" "$index"
left=("$runs" .claude/locks)
case $(cd "$keep" && pwd -P)/ in
"$(pwd -P)"/*) left+=("$keep") ;; # elsewhere git does not know it
esac
GIT_INDEX_FILE=$index git add --all -- :/
GIT_INDEX_FILE=$index git reset --quiet HEAD -- "${left[@]}"
tree=$(GIT_INDEX_FILE=$index git write-tree)
snapshot=$(git -c user.name=agent-pipelines -c user.email=agent-pipelines@localhost commit-tree -p HEAD -m "workspace of session $session" "$tree")
git update-ref refs/agent-pipelines/workspace "$snapshot"
git bundle create --quiet "$keep/workspace.bundle" "${AP_BASE:-HEAD}..refs/agent-pipelines/workspace"
git symbolic-ref --quiet --short HEAD >"$keep/branch" || true
