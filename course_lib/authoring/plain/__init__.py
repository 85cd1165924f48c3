"""The plain form of a chapter: a notebook that JupyterLab, GitHub and Colab show without knowing MyST."""
