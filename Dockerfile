# The command line, the service and the MCP server (the extra mcp has serve in it): docker build -t tacit . && docker run --rm tacit --help
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE MANIFEST.in constraints.txt ./
COPY graph graph
COPY loaders loaders
COPY reasoning reasoning
COPY api api
COPY cypher cypher
RUN python -m venv /usr/local/tacit && /usr/local/tacit/bin/pip install --no-cache-dir -c constraints.txt '.[mcp]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/tacit tacit && install -d -o tacit /var/lib/tacit /var/cache/tacit
COPY --from=build /usr/local/tacit /usr/local/tacit
# Compiled kernels and indexes of servers' graphs are kept here; a volume lets them outlive the container.
ENV PATH=/usr/local/tacit/bin:$PATH NUMBA_CACHE_DIR=/var/cache/tacit/numba TACIT_CACHE=/var/cache/tacit PYTHONUNBUFFERED=1
USER tacit
WORKDIR /var/lib/tacit
VOLUME /var/cache/tacit
EXPOSE 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["tacit"]
CMD ["--help"]
