"""``agentflow completion``: the script that teaches a shell to complete our commands, options and targets."""

from pathlib import PurePath

import click
from click.shell_completion import get_completion_class


@click.command(
    "completion",
    epilog="""\b
Install it for good:
  bash:  agentflow completion bash >> ~/.bashrc
  zsh:   agentflow completion zsh >> ~/.zshrc
  fish:  agentflow completion fish > ~/.config/fish/completions/agentflow.fish
\b
For this shell alone:
  eval "$(agentflow completion bash)\"""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    root = ctx.find_root()
    name = PurePath(root.info_name or "").name
    script = name if name in {"agentflow", "evalengine"} else "agentflow"
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(root.command, {}, script, f"_{script.upper()}_COMPLETE").source())
