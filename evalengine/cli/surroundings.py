"""What commands share of the world around them: the working directory, and the browser."""

from pathlib import Path

from evalengine.cli.streams import print_to_stderr


def working_directory() -> Path:
    """Return the working directory; raise DiscoveryError where it is gone."""
    from evalengine.errors import DiscoveryError

    try:
        return Path.cwd()
    except OSError:
        raise DiscoveryError("the working directory does not exist any more: change to another") from None


def open_page(path: Path) -> None:
    """Open an HTML report in the browser; say so where there is none."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        print_to_stderr("notice:", f"no browser was found to open {path}")
