"""Arrays in memory, whoever made them, as NumPy's or Polars' own.

Tensors of torch, JAX, TensorFlow and CuPy are known by what they offer, wherever they lie and of whatever precision; no
library is imported for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

Array = NDArray[Any]

_TABLES = ("polars", "pandas", "pyarrow")
_PLAIN = "biufUS"
"""Kinds of NumPy's types that become columns."""


def is_array(value: Any) -> bool:
    """Whether it is an array or tensor of some library, and not a column or table of one."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, type) or type(value).__module__.partition(".")[0] in _TABLES:
        return False
    return hasattr(value, "shape") and (hasattr(value, "__array__") or hasattr(value, "__dlpack__"))


def as_array(value: Any, name: str = "") -> Array:
    """An array or tensor as NumPy's, in this machine's byte order; masked values become NaN."""
    try:
        return native(value if isinstance(value, np.ndarray) else _fetched(value))
    except InputError:
        raise
    except Exception as error:  # whatever another library raises where its array cannot be had
        raise InputError(
            f"cannot be read as an array ({type(error).__name__}: {shown(str(error), 80)})", field=name or None,
            hint="Give it as a NumPy array.", reason=Reason.NOT_A_TABLE,
        ) from None  # fmt: skip


def _fetched(value: Any) -> Any:
    """Another library's array from wherever it lies."""
    if callable(getattr(value, "detach", None)):  # torch: away from the gradient and the accelerator
        value = value.detach()
        if getattr(value, "is_sparse", False):
            value = value.to_dense()
        value = value.cpu()
        if value.is_floating_point() and str(value.dtype) not in ("torch.float16", "torch.float32", "torch.float64"):
            value = value.float()  # bfloat16 and float8, which NumPy does not have
        for settle in ("resolve_conj", "resolve_neg"):
            value = getattr(value, settle)() if callable(getattr(value, settle, None)) else value
        return value.numpy()
    if type(value).__module__.partition(".")[0] == "cupy":
        return value.get()
    return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)


def native(array: Array) -> Array:
    """An array whose numbers every library reads: no masks, no foreign byte order, no precision of others."""
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        array = np.asarray(array.data)
        if hidden.any():
            array = np.where(hidden, np.nan, array.astype(np.float64))
    array = np.asarray(array)
    if array.dtype.name in ("bfloat16",) or array.dtype.name.startswith("float8"):
        return array.astype(np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_plain(array: Array) -> bool:
    """Whether it holds numbers, marks or texts, and can be a column."""
    return array.dtype.kind in _PLAIN and array.ndim in (1, 2)


def column(name: str, value: Any) -> pl.Series:
    """One column of a table from what a user holds: n values, or n rows of as many numbers.

    Rows of one number are numbers; a list of arrays is what they are one after the other.
    """
    if isinstance(value, pl.Series):
        return value.alias(name)
    if isinstance(value, pl.DataFrame):  # a column for each class
        return value.to_struct(name)
    if hasattr(value, "iloc"):  # pandas
        return _of_pandas(name, value)
    if is_array(value):
        array = as_array(value, name)
    elif isinstance(value, list | tuple) and value and all(map(is_array, value)):
        array = _joined(name, [as_array(one, name) for one in value])
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _of_list(name, value)
    elif callable(getattr(value, "to_numpy", None)):  # Arrow
        return pl.Series(name, value)
    else:
        raise InputError(
            field=name, expected="an array, a list or a column", got=shown(value, 60), reason=Reason.NOT_A_TABLE
        )
    return of_array(name, array)


def of_array(name: str, array: Array) -> pl.Series:
    if array.dtype.kind == "O" and array.ndim == 1:
        return column(name, array.tolist())
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind not in "f":
        array = array[:, 0]  # labels as a column of a matrix
    if not is_plain(array):
        raise InputError(
            field=name, expected="a value for each row, or a row of numbers for each",
            got=f"an array of the shape {shape_of(array)} and the type {array.dtype}",
            hint="Rows of one table: bring it to n × classes (for tokens, e.g. P.reshape(-1, P.shape[-1]), without "
            "those that are padding).", reason=Reason.SHAPE,
        )  # fmt: skip
    if array.ndim == 2 and array.shape[1] == 0:
        raise InputError(field=name, expected="at least one column", got=shape_of(array), reason=Reason.SHAPE)
    try:
        return pl.Series(name, np.ascontiguousarray(array), nan_to_null=False)
    except UnicodeEncodeError:
        raise InputError(
            field=name, expected="texts that can be written as UTF-8", got="half of a character (a surrogate)",
            reason=Reason.NOT_TEXT,
        ) from None  # fmt: skip


def shape_of(array: Array) -> str:
    """The shape in words: 200 × 3."""
    return " × ".join(f"{size:,}" for size in array.shape) or "one value"


def _of_pandas(name: str, value: Any) -> pl.Series:
    if hasattr(value, "columns"):
        return pl.DataFrame({str(one): column(str(one), value[one]) for one in value.columns}).to_struct(name)
    array = value.to_numpy()
    if array.dtype.kind != "O":
        return of_array(name, native(array))
    return _of_list(name, array.tolist())


def _of_list(name: str, value: Sequence[Any]) -> pl.Series:
    if len(value) and all(is_array(one) for one in value[:3]):
        return of_array(name, _joined(name, [as_array(one, name) for one in value]))
    try:
        series = pl.Series(name, list(value), nan_to_null=False)
        if series.dtype != pl.Object:
            return series
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        field=name, expected="values of one kind, or rows of numbers", got=shown(list(value[:3]), 60),
        reason=Reason.MIXED_KINDS,
    )  # fmt: skip


def _joined(name: str, parts: Sequence[Array]) -> Array:
    """Rows that are an array each, or batches of rows, one after the other."""
    shapes = {part.shape[1:] if part.ndim > 1 else part.shape for part in parts}
    if len({part.ndim for part in parts}) > 1 or len(shapes) > 1:
        raise InputError(
            field=name, expected="arrays of one shape", got=", ".join(shape_of(part) for part in parts[:4]),
            reason=Reason.SHAPE,
        )  # fmt: skip
    return np.concatenate(parts) if parts[0].ndim > 1 else np.stack(parts)


def with_plain_columns(data: Any) -> Any:
    """Columns in memory as they are, but for tensors and arrays that a table cannot take as they are."""
    if isinstance(data, Mapping) and any(_is_foreign(value) for value in data.values()):
        return {name: column(str(name), value) if is_array(value) else value for name, value in data.items()}
    if isinstance(data, list) and data and isinstance(data[0], dict) and any(map(_is_tensor, data[0].values())):
        return [{name: _value(one) for name, one in row.items()} if isinstance(row, dict) else row for row in data]
    return data


def _is_tensor(value: Any) -> bool:
    return is_array(value) and not isinstance(value, np.ndarray | np.generic)


def _value(value: Any) -> Any:
    return as_array(value).tolist() if _is_tensor(value) else value


def _is_foreign(value: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return is_array(value)
    odd = value.dtype.kind == "S" or value.dtype.kind not in _PLAIN + "OMm" or not value.dtype.isnative
    return odd or isinstance(value, np.ma.MaskedArray) or value.ndim > 1 or value.dtype.char == "g"
