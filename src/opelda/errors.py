"""What opelda raises.

OpeldaError
├── InputError (also a ValueError)     data or a parameter the caller gave cannot be used
└── EngineError (also a RuntimeError)  an engine cannot do what was asked on this machine
"""

__all__ = ["EngineError", "InputError", "OpeldaError"]


class OpeldaError(Exception):
    """Every error opelda raises on purpose."""


class InputError(OpeldaError, ValueError):
    """Data or a parameter cannot be used; the message says which, where, and what to do."""


class EngineError(OpeldaError, RuntimeError):
    """An engine is missing something it needs, or does not offer the method asked for."""
