#!/usr/bin/env bash
# Exits with 0 if the session is completed, or paused for the user; otherwise with its exit code.
set -euo pipefail

keep=${AP_KEEP:?the directory that keeps the session is missing}
code=$(head -n 1 "$keep/exit_code" 2>/dev/null || echo 1)
question=$(head -n 1 "$keep/question" 2>/dev/null || true)
if [ "$code" = 22 ] && [ -n "$question" ]; then
  code=0
fi
exit "$code"
