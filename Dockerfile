# Blockwise as a container, with or without a GPU:
#   docker build -t blockwise .  &&  docker run --gpus all -p 7860:7860 blockwise
FROM python:3.12-slim

# Triton compiles a small C launcher for every kernel when it first runs on a GPU.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

# The default torch needs a recent NVIDIA driver. For an older one, name an index with a torch that
# is built for an older CUDA:  docker build --build-arg TORCH_INDEX_URL=... .
ARG TORCH_INDEX_URL=
WORKDIR /app
COPY requirements.txt ./
RUN if [ -n "$TORCH_INDEX_URL" ]; then \
        pip install --no-cache-dir --index-url "$TORCH_INDEX_URL" \
            "$(grep -o '^torch==[0-9.]*' requirements.txt)"; \
    fi \
    && pip install --no-cache-dir -r requirements.txt

# The app's files belong to root, so the user that serves the page cannot change them.
COPY app.py LICENSE ./
COPY kernels ./kernels
COPY benchmarks ./benchmarks
COPY viz ./viz
RUN python -m compileall -q app.py kernels benchmarks viz

RUN useradd --uid 1000 --create-home user
USER 1000
ENV HOME=/home/user \
    TRITON_CACHE_DIR=/home/user/.cache/triton \
    TORCHINDUCTOR_CACHE_DIR=/home/user/.cache/torchinductor \
    GRADIO_TEMP_DIR=/home/user/.cache/gradio \
    GRADIO_ANALYTICS_ENABLED=False \
    PYTHONUNBUFFERED=1 \
    BLOCKWISE_HOST=0.0.0.0 \
    PORT=7860

EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=10s --start-period=90s \
    CMD python -c "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PORT'], timeout=8)"

CMD ["python", "app.py"]
