#!/usr/bin/env bash
# Restores the session AP_SESSION and its changes of the repository from the directory AP_KEEP. The current checkout must
# be clean and have the commit that the session began at.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/name.sh"
keep=${AP_KEEP:?the directory that keeps the session is missing}

if [ ! -f "$keep/session.tar.gz" ]; then
  echo "$keep contains no session: run this job after one that keeps the session, with that job's artifact" >&2
  exit 14
fi
dir=.claude/pipeline-runs/$session
if [ -e "$dir" ]; then
  echo "session '$session' exists here already: to continue the kept one, remove it first: agent-pipelines session rm $session" >&2
  exit 14
fi
if [ ! -f "$keep/workspace.bundle" ] && [ "$(cat "$keep/workspace" 2>/dev/null || true)" != none ]; then
  echo "the session's changes of the repository were not kept; the log of the job that packed it shows the reason" >&2
  echo "to continue without them: echo none >'$keep/workspace'" >&2
  exit 14
fi
if [ -f "$keep/workspace.bundle" ]; then
  if ! git bundle verify --quiet "$keep/workspace.bundle" >/dev/null 2>&1; then
    echo "the session's changes begin at a commit that is not here:" >&2
    git bundle verify "$keep/workspace.bundle" >&2 || true
    echo "check that commit out, or fetch the whole history (fetch-depth: 0, GIT_DEPTH: 0)" >&2
    exit 14
  fi
  if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "the checkout has changes of its own: restore the session before anything else" >&2
    exit 14
  fi
  git fetch --quiet "$keep/workspace.bundle" +refs/agent-pipelines/workspace:refs/agent-pipelines/workspace
  at=refs/agent-pipelines/workspace
  branch=$(cat "$keep/branch" 2>/dev/null || true)
  if [ -n "$branch" ] && git rev-parse --verify --quiet "refs/heads/$branch" >/dev/null &&
    [ -n "$(git rev-list -n 1 "refs/heads/$branch" --not "$at" --remotes)" ]; then
    echo "branch '$branch' has commits that are nowhere else: push them, or restore the session in another clone" >&2
    exit 14
  fi
  if [ -n "$branch" ]; then
    git checkout --quiet -B "$branch" "$at^"
  else
    git checkout --quiet --detach "$at^"
  fi
  git diff --binary "$at^" "$at" | git -C "$(git rev-parse --show-toplevel)" apply --allow-empty --whitespace=nowarn
fi
tar -xzf "$keep/session.tar.gz"
if [ ! -d "$dir" ]; then
  echo "$keep does not contain session '$session'" >&2
  exit 14
fi
# All paths of a session are in it or relative to the project. The exception is the plan, which has the absolute paths
# of the files of --input.
place=$(cat "$keep/place" 2>/dev/null || true)
if [ -n "$place" ] && [ "$place" != "$(pwd -P)" ] && grep -qF "\"$place/" "$dir/plan.json"; then
  echo "the session has files of $place (--input), which its agents would not find in $(pwd -P):" >&2
  echo "check the repository out at the same path, or name the files in the prompts instead" >&2
  exit 14
fi
