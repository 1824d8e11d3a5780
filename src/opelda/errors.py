"""What opelda raises.

OpeldaError
├── InputError (also a ValueError)     data or a parameter the caller gave cannot be used
├── ModelFileError (also a ValueError) a model file cannot be read or written
└── EngineError (also a RuntimeError)  an engine cannot do what was asked on this machine
"""

__all__ = ["EngineError", "InputError", "ModelFileError", "OpeldaError"]


class OpeldaError(Exception):
    """Every error opelda raises on purpose."""


class InputError(OpeldaError, ValueError):
    """Data or a parameter cannot be used; the message says which, where, and what to do."""


class ModelFileError(OpeldaError, ValueError):
    """A model file cannot be read or written; the message says which and why."""


class EngineError(OpeldaError, RuntimeError):
    """An engine is missing something it needs, or does not offer the method asked for."""
