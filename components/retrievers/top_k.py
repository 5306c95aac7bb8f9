"""Numbers that a component is given, checked where they are set and where they are overridden."""


def checked_top_k(component: str, top_k: object, *, at_least: int) -> int:
    """`top_k` as it was given.

    Raises:
        TypeError: it is no whole number; names the component.
        ValueError: it is less than `at_least`; names the component.
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"{component}.top_k must be a whole number, got {top_k!r}.")
    if top_k < at_least:
        raise ValueError(f"{component}.top_k must be {at_least} or more, got {top_k}.")
    return top_k


def checked_refresh(component: str, seconds: float) -> float:
    """`refresh_seconds` as it was given.

    Raises:
        ValueError: it is not a number from 0; names the component.
    """
    if not (is_number(seconds) and seconds >= 0):
        raise ValueError(f"{component}.refresh_seconds must be 0 or more, got {seconds!r}.")
    return seconds


def is_number(value: object) -> bool:
    """Whether a value can be compared with numbers; a YAML file may hold "0.5" in its place."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
