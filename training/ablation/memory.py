"""Memory between the runs of a grid."""

import ctypes
import gc


def give_back_memory() -> None:
    """Give what a run has freed back to the system, where the C library can.

    glibc keeps it otherwise, in pieces that the next run's batches do not fit into: a grid would
    take more memory with every run, and leave less to the processes beside it.
    """
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return  # another C library
    trim(0)
