"""The device that a component is given, checked where it is set."""

from haystack.utils import ComponentDevice


def checked_device(component: str, device: object) -> ComponentDevice | None:
    """`device` as it was given.

    Raises:
        TypeError: it is no ComponentDevice, such as the "cpu" of other libraries; names the
            component.
    """
    if device is not None and not isinstance(device, ComponentDevice):
        raise TypeError(
            f"{component}.device must be a ComponentDevice or None, got {device!r}. Write it as "
            'ComponentDevice.from_str("cpu").'
        )
    return device
