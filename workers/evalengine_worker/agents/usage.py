"""Token counts in the dialects of the trade: OpenAI, Anthropic, LangChain, Gemini, agentflow."""

from typing import Any

from evalengine.results import TokenUsage
from evalengine_worker.agents.fields import get

_INPUT = ("input_tokens", "prompt_tokens", "prompt_token_count")
_OUTPUT = ("output_tokens", "completion_tokens", "candidates_token_count")
_CACHE_READ = ("cache_read_tokens", "cache_read_input_tokens", "cached_content_token_count")
_CACHE_CREATION = ("cache_creation_tokens", "cache_creation_input_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")

_NONE = TokenUsage()


def read_usage(value: Any) -> TokenUsage:
    """Read token counts; what is missing is 0."""
    if value is None:
        return _NONE
    return TokenUsage(
        _count(value, _INPUT),
        _count(value, _OUTPUT),
        _count(value, _CACHE_READ) or _detail(value, ("cached_tokens", "cache_read")),
        _count(value, _CACHE_CREATION) or _detail(value, ("cache_creation",)),
    )


def _count(value: Any, names: tuple[str, ...]) -> int:
    for name in names:
        found = get(value, name)
        if isinstance(found, int | float) and 0 < found < 2**53:
            return int(found)
    return 0


def _detail(value: Any, names: tuple[str, ...]) -> int:
    for name in _DETAILS:
        details = get(value, name)
        if details is not None and (count := _count(details, names)):
            return count
    return 0
