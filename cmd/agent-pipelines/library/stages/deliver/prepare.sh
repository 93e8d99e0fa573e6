# How the change is to be handed over, for the agent's prompt.
set -u
of() { sed -n "s/^$1: *//p" "$2" | tr -d "\"'"; }
mode=$(of delivery_mode "$AGENT_PIPELINES_START_ARTIFACT") id=$(of spec_id "$AGENT_PIPELINES_INPUT_ARTIFACT")
echo "delivery_mode: ${mode:-files}"
echo "spec_id: $id"
echo "branch: feature/$id"
if [ -f "specs/$id.yaml" ]; then echo "specification: specs/$id.yaml"; fi
