#!/usr/bin/env bash
# Puts into the directory AP_KEEP what was changed in the repository since the commit AP_BASE, committed or not. Ignored files stay
# behind, and so do the sessions. Called by pack.sh.
set -euo pipefail

keep=${AP_KEEP:?the directory that keeps the session is missing}
# A commit of all that is there, beside the branch: neither the index nor a branch is touched.
index=$(mktemp)
trap 'rm -f "$index"' EXIT
cp "$(git rev-parse --git-path index)" "$index"
left=(.claude/pipeline-runs .claude/locks)
case $(cd "$keep" && pwd -P)/ in
"$(pwd -P)"/*) left+=("$keep") ;; # elsewhere git does not know it
esac
GIT_INDEX_FILE=$index git add --all -- :/ ':(top,exclude,glob)**/gha-creds-*.json' # credentials that a step of GitHub leaves
GIT_INDEX_FILE=$index git reset --quiet HEAD -- "${left[@]}"
tree=$(GIT_INDEX_FILE=$index git write-tree)
git diff-tree -r --diff-filter=A HEAD "$tree" | sed -n 's/^:000000 160000 [^\t]*\t//p' | while IFS= read -r nested; do
  echo "$nested is a repository of its own: its files are not kept" >&2
done
snapshot=$(git -c user.name=agent-pipelines -c user.email=agent-pipelines@localhost commit-tree -p HEAD -m "workspace of session $AP_SESSION" "$tree")
git update-ref refs/agent-pipelines/workspace "$snapshot"
git bundle create --quiet "$keep/workspace.bundle" "${AP_BASE:-HEAD}..refs/agent-pipelines/workspace"
git symbolic-ref --quiet --short HEAD >"$keep/branch" || true
