"""What an agent keeps on its disk: its state, written so that a crash loses nothing."""
