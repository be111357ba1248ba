# One image for every command: `docker run moodstream worker`, `... serve`, `... topics create`. No secrets are baked in:
# addresses and passwords come from the environment (MOODSTREAM_*) when a container starts.
FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /opt/moodstream
COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY affect affect
COPY streams streams
COPY state state
COPY agents agents
COPY query query
COPY cli cli
COPY src src
RUN /opt/moodstream/bin/pip install --no-cache-dir '.[worker,query]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin moodstream
COPY --from=build /opt/moodstream /opt/moodstream
ENV PATH=/opt/moodstream/bin:$PATH PYTHONUNBUFFERED=1
# Faust wants a folder for its own small files.
WORKDIR /tmp
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["moodstream"]
CMD ["--help"]
