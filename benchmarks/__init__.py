"""What is measured on the real kernels, always in a worker process of its own."""
