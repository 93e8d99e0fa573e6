# The command with its plugins, for users and CI jobs that run pipelines in a container. It runs as an ordinary user; agents'
# own programs (Claude Code, Codex, …) are for an image made from this one: docs/installing.md.
FROM golang:1.26-trixie AS build
WORKDIR /src
COPY . .
ARG VERSION=0.0.0-dev
ARG REVISION=
RUN make build BIN=/out VERSION="$VERSION" REVISION="$REVISION"

FROM debian:trixie-slim
RUN apt-get update \
	&& apt-get install --yes --no-install-recommends bash bubblewrap ca-certificates git tmux \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --create-home --uid 10001 pipelines \
	&& install -d -o pipelines -g pipelines /work
COPY --from=build /out/agent-pipelines /usr/bin/
COPY --from=build /out/plugins/ /usr/lib/agent-pipelines/plugins/
USER 10001
WORKDIR /work
ENTRYPOINT ["agent-pipelines"]
CMD ["--help"]
