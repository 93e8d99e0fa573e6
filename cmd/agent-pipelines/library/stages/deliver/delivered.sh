# Compares the agent's claim of its delivery with git. It exits with 1 and says on standard error what is wrong.
set -u
of() { sed -n "s/^$1: *//p" "$2" | tr -d "\"'"; }
bad() { echo "$1" >&2; exit 1; }
made=$AGENT_PIPELINES_ARTIFACT given=$AGENT_PIPELINES_INPUT_ARTIFACT
mode=$(of delivery_mode "$AGENT_PIPELINES_START_ARTIFACT")
mode=${mode:-files} id=$(of spec_id "$given")
[ "$(of deliverable_type "$made")" = "$mode" ] || bad "deliverable_type has to be $mode, which was asked for"
[ "$(of spec_id "$made")" = "$id" ] || bad "spec_id has to be $id"
case $mode in
commit | pr)
  [ "$(git symbolic-ref -q --short HEAD)" = "feature/$id" ] || bad "HEAD is not on the branch feature/$id"
  git log -1 --format=%B | grep -qxF "Spec: $id" || bad "the message of the commit has no line: Spec: $id"
  subject=$(git log -1 --format=%s)
  case $subject in "feat: "?*) ;; *) bad "the message of the commit does not begin with feat: and the title" ;; esac
  [ ${#subject} -le 56 ] || bad "the title in the message of the commit has more than 50 characters"
  [ "$(git log -1 --format=%B | sed -n 's/^Files://p' | tr ',' '\n' | grep -c .)" -le 10 ] || bad "the message of the commit lists more than 10 files"
  sha=$(of commit_sha "$made") head=$(git rev-parse HEAD)
  [ -n "$sha" ] && [ "${head#"$sha"}" != "$head" ] || bad "commit_sha is not HEAD, which is $head"
  sed -n '/^final_files:/,/^[^ -]/s/^ *- *//p' "$given" | tr -d "\"'" | while read -r file; do git status --porcelain -- "$file"; done |
    grep . >&2 && bad "the commit lacks files of the change"
  ;;
files | patch)
  git log --all -F --grep="Spec: $id" --format=%h 2>/dev/null | grep . >&2 && bad "a commit was made, and delivery_mode is $mode"
  ;;
*) bad "delivery_mode $mode is none of commit, pr, files, patch" ;;
esac
case $mode in
pr)
  [ -n "$(of pr_url "$made")" ] || bad "pr_url is missing"
  [ "$(git rev-parse -q --verify '@{upstream}')" = "$(git rev-parse HEAD)" ] || bad "the branch is not pushed"
  ;;
patch)
  patch=$(of patch_file "$made")
  [ "$patch" = "specs/$id.patch" ] && [ -s "$patch" ] || bad "patch_file has to be specs/$id.patch, and to hold the change"
  git apply --reverse --check "$patch" || bad "the patch does not apply in reverse: it is not what was changed"
  ;;
esac
exit 0
