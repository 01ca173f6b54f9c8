"""What runs inside a worker process. The coordinator starts it by name and never imports it."""
