"""What `--help` prints, one module for each plugin. No other command loads it."""
