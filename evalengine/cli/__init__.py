"""The command line: click commands that settle what is wanted and hand it to :mod:`evalengine.api`.

Starting up must stay cheap: the entry imports click alone, a command is imported when it is asked for, and the
engine when it runs.
"""
