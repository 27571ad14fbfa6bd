"""What holds over several logs: a grid of ratios to the baseline, and one sentence."""
