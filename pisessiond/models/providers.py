"""Where the providers that pi knows are reached, and which variables hold their keys.

Facts of pi 1.6.0's providers, as far as they speak one of the two wire formats. Where pi uses
another format of a provider (Responses, Mistral's own, Google's own) but the provider serves Chat
Completions too, that is what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pisessiond.models.endpoints import Api


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as pi knows it."""

    variables: tuple[str, ...]
    """Environment variables that may hold the key, the first that is set counts."""
    base_url: str | None = None
    """None: not reachable with one of the two wire formats, or not without more than a key."""
    api: Api = "openai-completions"
    path: str = ""
    """Goes behind the address that pi has for the provider, which models.json may replace."""
    usage_in_streaming: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """None: by the address."""


def _chat(base_url: str, *variables: str) -> Provider:
    return Provider(variables, base_url)


def _messages(base_url: str, *variables: str) -> Provider:
    return Provider(variables, base_url, "anthropic-messages")


PROVIDERS: Final[dict[str, Provider]] = {
    "anthropic": _messages("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "ant-ling": _chat("https://api.ant-ling.com/v1", "ANT_LING_API_KEY"),
    "baseten": _chat("https://inference.baseten.co/v1", "BASETEN_API_KEY"),
    "cerebras": _chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepseek": _chat("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "fireworks": Provider(("FIREWORKS_API_KEY",), "https://api.fireworks.ai/inference", path="/v1"),
    "google": Provider(
        ("GEMINI_API_KEY",),
        "https://generativelanguage.googleapis.com/v1beta",
        path="/openai",
        max_tokens_field="max_tokens",
    ),
    "groq": _chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "huggingface": _chat("https://router.huggingface.co/v1", "HF_TOKEN"),
    "kimi-coding": _chat("https://api.kimi.com/coding/v1", "KIMI_API_KEY"),
    "minimax": _messages("https://api.minimax.io/anthropic", "MINIMAX_API_KEY"),
    "minimax-cn": _messages("https://api.minimaxi.com/anthropic", "MINIMAX_CN_API_KEY"),
    # It refuses members that it does not know, `stream_options` among them, and tells the usage
    # without being asked.
    "mistral": Provider(
        ("MISTRAL_API_KEY",),
        "https://api.mistral.ai",
        path="/v1",
        usage_in_streaming=False,
        max_tokens_field="max_tokens",
    ),
    "moonshotai": _chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "moonshotai-cn": _chat("https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    "nvidia": _chat("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "openai": _chat("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": _chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "qwen-token-plan": _chat(
        "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1",
        "QWEN_TOKEN_PLAN_TEAM_API_KEY",
    ),
    "qwen-token-plan-cn": _chat(
        "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1",
        "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY",
    ),
    "qwen-token-plan-individual": _chat(
        "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1",
        "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY",
    ),
    "qwen-token-plan-individual-cn": _chat(
        "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1",
        "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY",
    ),
    "together": _chat("https://api.together.ai/v1", "TOGETHER_API_KEY"),
    "vercel-ai-gateway": _messages("https://ai-gateway.vercel.sh", "AI_GATEWAY_API_KEY"),
    "xai": _chat("https://api.x.ai/v1", "XAI_API_KEY"),
    "xiaomi": _chat("https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY"),
    "xiaomi-token-plan-ams": _chat(
        "https://token-plan-ams.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_AMS_API_KEY"
    ),
    "xiaomi-token-plan-cn": _chat(
        "https://token-plan-cn.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_CN_API_KEY"
    ),
    "xiaomi-token-plan-sgp": _chat(
        "https://token-plan-sgp.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_SGP_API_KEY"
    ),
    "zai": _chat("https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY"),
    "zai-coding-cn": _chat("https://open.bigmodel.cn/api/coding/paas/v4", "ZAI_CODING_CN_API_KEY"),
    # Reached by pi alone: another format, an address or credentials of more than one part, or a
    # sign-in.
    "amazon-bedrock": Provider(("AWS_BEARER_TOKEN_BEDROCK",)),
    "azure": Provider(("AZURE_OPENAI_API_KEY",)),
    "cloudflare-ai-gateway": Provider(("CLOUDFLARE_API_KEY",)),
    "cloudflare-workers-ai": Provider(("CLOUDFLARE_API_KEY",)),
    "github-copilot": Provider(("COPILOT_GITHUB_TOKEN",)),
    "google-vertex": Provider(("GOOGLE_CLOUD_API_KEY",)),
    "meta": Provider(("META_API_KEY",)),
    "openai-codex": Provider(()),
    "opencode": Provider(("OPENCODE_API_KEY",)),
    "opencode-go": Provider(("OPENCODE_API_KEY",)),
    "radius": Provider(("RADIUS_API_KEY",)),
}

_USES_MAX_TOKENS: Final = (
    "chutes.ai",
    "deepseek.com",
    "api.moonshot.",
    "gateway.ai.cloudflare.com",
    "api.together.ai",
    "api.together.xyz",
    "integrate.api.nvidia.com",
    "api.ant-ling.com",
    "api.z.ai",
    "open.bigmodel.cn",
)
"""Parts of the addresses of servers that know `max_tokens` alone (pi 1.6.0: `detectCompat`)."""


def max_tokens_field(
    provider: str, base_url: str
) -> Literal["max_tokens", "max_completion_tokens"]:
    """How a server calls the limit of an answer, where nobody says."""
    known = PROVIDERS.get(provider)
    if known is not None and known.max_tokens_field is not None:
        return known.max_tokens_field
    # A provider's own address, so that another one in its place is the same provider.
    addresses = f"{known.base_url if known else ''} {base_url.lower()}"
    uses_old = any(part in addresses for part in _USES_MAX_TOKENS)
    return "max_tokens" if uses_old else "max_completion_tokens"


GENAI_PROVIDERS: Final = {
    "amazon-bedrock": "aws",
    "anthropic": "anthropic",
    "azure": "azure",
    "baseten": "baseten",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "github-copilot": "github-copilot",
    "google": "google",
    "google-vertex": "google",
    "groq": "groq",
    "meta": "meta",
    "minimax": "minimax",
    "minimax-cn": "minimax",
    "mistral": "mistral",
    "moonshotai": "moonshotai",
    "moonshotai-cn": "moonshotai",
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
    "zai": "zai",
    "zai-coding-cn": "zai",
}
"""genai-prices' name of pi's providers. One that is not here is unknown there: a model of the same
name may have another window and price elsewhere."""
