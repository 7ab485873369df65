"""What is checked of a delivery when it is landed: can it be used, and are its columns as declared.

What belongs here: the two checks, by name, and what a landing says about them. What does not:
deciding what is landed (`extract.py`), and counting rows (`validate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from customer_pipeline.outcomes import CheckResult
from customer_pipeline.stages.landing import Manifest

DELIVERY_IS_USABLE = "delivery_is_usable"
COLUMNS_ARE_AS_DECLARED = "columns_are_as_declared"
STATEMENTS: Mapping[str, str] = {
    DELIVERY_IS_USABLE: "there is a delivery, it is whole, and no more of it is unreadable than"
    " allowed (or the feed's rule says that none is needed)",
    COLUMNS_ARE_AS_DECLARED: "the delivery has the columns that the feed declares, and no others; a"
    " difference that the feed allows is a warning",
}
_SHOWN = 8


def delivery_checks(manifest: Manifest) -> list[CheckResult]:
    """Both checks of one landed partition."""
    return [_usable(manifest), _columns(manifest)]


def _usable(manifest: Manifest) -> CheckResult:
    return CheckResult(
        DELIVERY_IS_USABLE,
        manifest.partition_key,
        passed=manifest.state != "rejected",
        description=manifest.reason or "read as declared",
        metadata={
            "source_rows": manifest.source_rows,
            "quarantined_rows": manifest.quarantined_rows,
        },
    )


def _columns(manifest: Manifest) -> CheckResult:
    texts = [str(one) for one in manifest.drift[:_SHOWN]]
    if (more := len(manifest.drift) - _SHOWN) > 0:
        texts.append(f"and {more} more")
    has_columns = manifest.state == "landed" and manifest.columns_seen
    nothing = "as declared" if has_columns else "no columns to check"
    return CheckResult(
        COLUMNS_ARE_AS_DECLARED,
        manifest.partition_key,
        passed=not texts,
        description="; ".join(texts) or nothing,
        warn_only=not any(one.refuses for one in manifest.drift),
        metadata={"columns_not_as_declared": len(manifest.drift)},
    )
