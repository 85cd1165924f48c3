# The exercises for a class, on a JupyterHub or in Codespaces (.devcontainer/); or for one machine:
#   docker build --tag attention . && docker run --publish 8888:8888 attention
# This base brings JupyterLab, what a JupyterHub starts (jupyterhub-singleuser), git, and a user without privileges.
FROM quay.io/jupyter/minimal-notebook:2026-07-28

# Students who start an exercise of their own find the processor's build of torch as well, without several GB of CUDA.
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu

COPY --chown=${NB_UID}:${NB_GID} . /tmp/course
RUN grep --invert-match '^-e' /tmp/course/requirements.txt > /tmp/pins.txt && \
    pip install --no-cache-dir --constraint /tmp/pins.txt /tmp/course && \
    rm -rf /tmp/course /tmp/pins.txt && \
    fix-permissions "${CONDA_DIR}"

# A hub mounts the home folder of a student over the image's: what is not yet in it is copied when the server starts.
USER root
# hadolint ignore=SC2016
RUN echo '[ "$(id -u)" = 0 ] || (cd "$HOME" && course start)' > /usr/local/bin/before-notebook.d/20-exercises.sh
USER ${NB_UID}
