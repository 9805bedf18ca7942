# LNamespace as an image: Debian's Python, the locked packages, ours, and nothing else. No shell, no
# package manager, no compiler. docs/release.md says how it is built, and how it is tried without a
# container engine.
#
# Everything is put together on the machine that builds, also for another architecture: nothing of the
# image is run here, so no emulator is needed.

# Only the tools are from this image. To pin it: --build-arg DEBIAN=debian:bookworm-slim@sha256:...
ARG DEBIAN=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM ${DEBIAN} AS build
# Of the image that is built: amd64 or arm64. Builders set it.
ARG TARGETARCH=amd64
ENV DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

RUN dpkg --add-architecture "$TARGETARCH" \
 && apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv

# The interpreter, the libraries that it and the wheels are linked with, and what they read. Scanners
# find what is installed by the files in status.d, as in other images without a package manager.
WORKDIR /debs
RUN apt-get download base-files:"$TARGETARCH" netbase:all media-types:all tzdata:all \
      $(for name in libbz2-1.0 libc6 libcrypt1 libexpat1 libffi8 libgcc-s1 liblzma5 libpython3.11-minimal \
        libpython3.11-stdlib libsqlite3-0 libssl3 libstdc++6 libuuid1 python3.11-minimal zlib1g; \
        do echo "$name:$TARGETARCH"; done) \
 && mkdir -p /image/var/lib/dpkg/status.d \
 && for deb in *.deb; do \
      dpkg-deb --extract "$deb" /image \
      && dpkg-deb --field "$deb" > "/image/var/lib/dpkg/status.d/$(dpkg-deb --field "$deb" Package)" \
      || exit 1; \
    done \
 && rm -rf /image/usr/share/doc/*/changelog* /image/usr/share/man /image/usr/share/locale \
 && ln -s python3.11 /image/usr/bin/python3 \
 && mkdir -p /image/etc/ssl/certs /image/var/lib/lnamespace \
 && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
 && echo 'hosts: files dns' > /image/etc/nsswitch.conf \
 && echo 'lnamespace:x:65532:65532::/var/lib/lnamespace:/nonexistent' > /image/etc/passwd \
 && echo 'lnamespace:x:65532:' > /image/etc/group \
 && chown 65532:65532 /image/var/lib/lnamespace

# First what changes seldom: the packages, each as requirements/run.txt has its hash. Debian's Python
# looks for them in dist-packages.
WORKDIR /source
COPY requirements/build.txt requirements/run.txt requirements/
RUN python3 -m venv /tools \
 && /tools/bin/pip install --no-cache-dir --require-hashes --no-deps --requirement requirements/build.txt
RUN mkdir -p /image/usr/local/lib/python3.11/site-packages \
 && ln -s site-packages /image/usr/local/lib/python3.11/dist-packages \
 && case "$TARGETARCH" in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac \
 && /tools/bin/uv pip install --no-cache --python /usr/bin/python3 --prefix /image/usr/local \
      --python-platform "$machine-unknown-linux-gnu" --only-binary :all: --compile-bytecode \
      --require-hashes --requirement requirements/run.txt

COPY pyproject.toml README.md LICENSE ./
COPY operator operator
COPY plugins/bin plugins/bin
RUN /tools/bin/uv build --no-cache --wheel --no-build-isolation --python /tools/bin/python --out-dir /wheel \
 && /tools/bin/uv pip install --no-cache --python /usr/bin/python3 --prefix /image/usr/local \
      --no-deps --compile-bytecode /wheel/*.whl

FROM scratch
COPY --from=build /image /
ENV PATH=/usr/local/bin:/usr/bin LANG=C.UTF-8 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /var/lib/lnamespace
ENTRYPOINT ["lnamespace"]
CMD ["--help"]
LABEL org.opencontainers.image.title="LNamespace" \
      org.opencontainers.image.description="A namespace for every team on a shared Kubernetes cluster, in one command." \
      org.opencontainers.image.licenses="Apache-2.0"
