# How the change is to be handed over, for the agent's prompt. A patch is made here, so that no agent has to copy one.
set -u
of() { sed -n "s/^$1: *//p" "$2" | tr -d "\"'"; }
given=$AGENT_PIPELINES_INPUT_ARTIFACT
mode=$(of delivery_mode "$AGENT_PIPELINES_START_ARTIFACT")
mode=${mode:-files} id=$(of spec_id "$given")
echo "delivery_mode: $mode"
echo "spec_id: $id"
echo "branch: feature/$id"
if [ -f "specs/$id.yaml" ]; then echo "specification: specs/$id.yaml"; fi
[ "$mode" = patch ] || exit 0
index=$(mktemp -d) || exit 1
trap 'rm -rf "$index"' EXIT
export GIT_INDEX_FILE="$index/index"
base=$(git rev-parse -q --verify HEAD) || base=$(git hash-object -t tree /dev/null) || exit 1
git read-tree "$base" || exit 1
sed -n '/^final_files:/,/^[^ -]/s/^ *- *//p' "$given" | tr -d "\"'" | while read -r file; do git add -- "$file" || exit 1; done || exit 1
mkdir -p specs && git diff --cached --binary "$base" >"specs/$id.patch" || exit 1
echo "patch_file: specs/$id.patch"
