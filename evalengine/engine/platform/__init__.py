"""What differs between operating systems: how death is told, how a process tree is ended."""
