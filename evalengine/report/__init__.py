"""What a run tells: each output is a fold of the run events."""
