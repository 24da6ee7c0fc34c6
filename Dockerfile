# The daemon in an image: no compiler, no package index, no root. See docs/deploying.md.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
RUN python3 -m venv --without-pip /opt/neardup-stream && python3 -m venv /build/pip
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY neardup_stream neardup_stream
COPY daemon daemon
RUN /build/pip/bin/pip --python /opt/neardup-stream/bin/python install --quiet --no-cache-dir --no-compile \
      --constraint constraints.txt . \
    # Libraries bring their tests along.
 && find /opt/neardup-stream -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} + \
 && rm -rf /opt/neardup-stream/lib/python3.*/site-packages/numba/cuda

# Compiled here, for every Intel and AMD server since about 2015, so that no start has to. The source files that the
# cache is checked against stay as they are.
ENV NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/opt/neardup-stream/kernels
RUN printf '{"url": "https://example.com/", "html": "<p>%s"}\n' "$(seq -s ' ' 100)" \
    | /opt/neardup-stream/bin/neardup-stream fingerprint > /dev/null \
 && /opt/neardup-stream/bin/python -c 'from neardup_stream.archive.kernels import load_archive_kernel as load; load()' \
 && /opt/neardup-stream/bin/python -m compileall -q /opt/neardup-stream/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="neardup-stream" \
      org.opencontainers.image.description="Detects near-duplicate pages in a live crawl" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/neardup-stream /opt/neardup-stream
ENV PATH=/opt/neardup-stream/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/opt/neardup-stream/kernels \
    NEARDUP_HTTP__HOST=0.0.0.0
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
EXPOSE 9464
STOPSIGNAL SIGTERM
# No HEALTHCHECK: it would ask every command for the port of `run`. See docs/deploying.md.
ENTRYPOINT ["neardup-stream"]
CMD ["run", "--config", "/etc/neardup-stream/neardup.toml"]
