#!/usr/bin/env bash
# Puts into the directory AP_KEEP what another machine needs to resume the session AP_SESSION: its directory, and the
# changes in the repository since the commit AP_BASE (workspace.sh). Files that cannot be kept are reported, and listed for restore.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/name.sh"
keep=${AP_KEEP:?the directory that keeps the session is missing}
runs=.claude/pipeline-runs
mkdir -p "$keep"
rm -f "$keep/session.tar.gz" "$keep/workspace.bundle" "$keep/workspace" "$keep/branch" "$keep/place"

if [ ! -d "$runs/$session" ]; then
  echo "session '$session' never began: there is nothing to keep" >&2
  exit 0
fi
pwd -P >"$keep/place"
tar -czf "$keep/session.tar.gz" "$runs/$session" || [ $? -eq 1 ] # 1: a file changed meanwhile, which is its writer's matter

if ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo none >"$keep/workspace"
  echo "this is not a git repository with a commit: changes of its files are not kept" >&2
elif bash "$here/workspace.sh"; then
  echo kept >"$keep/workspace"
else
  echo failed >"$keep/workspace"
  echo "${GITHUB_ACTIONS:+::warning::}the changes of session '$session' in the repository could not be kept; the session is kept" >&2
fi
