"""What the engine costs, measured from outside: the installed command on generated projects, as a user runs it."""
