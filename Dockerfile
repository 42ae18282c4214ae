# Attention Lab for strangers, on CPUs: docker build -t attention-lab . && docker run -p 8501:8501 attention-lab
# Settings, and what it takes to be embedded: docs/hosting.md.
FROM debian:bookworm-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# Every wheel must have a SHA-256 of requirements-image.txt, which `python -m tools.lock` writes. torch without CUDA comes
# from the index that the file names; the headers and tests of torch are not needed.
COPY requirements-image.txt /srv/requirements.txt
RUN python3 -m venv /srv/venv \
    && /srv/venv/bin/pip install --no-cache-dir --no-compile --require-hashes --requirement /srv/requirements.txt \
    && rm -rf /srv/venv/lib/python3.11/site-packages/torch/include /srv/venv/lib/python3.11/site-packages/torch/test

# .dockerignore lists the files.
COPY . /srv/lab

RUN useradd --create-home --uid 1000 lab
USER lab
WORKDIR /srv/lab
ENV PATH=/srv/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 PORT=8501
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD python -c "import os, urllib.request as web; web.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=2)"
CMD ["sh", "-c", "exec streamlit run app/host.py --server.port $PORT --server.address 0.0.0.0"]
