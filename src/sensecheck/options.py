"""Options: written once, in the signature of the function that takes them.

    def evaluate(data: Any, *, bins: Annotated[int, Option("equal-width bins on [0, 1]", at_least=1)] = 20) -> Result:

The command line, evaluation files and the documentation of the function read the same words, types and defaults from
there (`parameters`). A parameter without an `Option` is one for Python and evaluation files alone.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Union

MISSING: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Option:
    """What a user is told of a parameter, and how a command line spells it."""

    help: str
    """One line, in plain English."""
    group: str = ""
    """The heading in --help under which it stands."""
    flag: str = ""
    """Its name on the command line where that is not the parameter's (`--slice` for `slices`)."""
    short: str = ""
    """A second, short flag: `-r`."""
    metavar: str = ""
    """What stands for the value in --help: `FILE`, `N`."""
    default: Any = None
    """The default of a keyword that is declared in a TypedDict, which has no place for one."""
    choices: tuple[str, ...] = ()
    """What a text may be, where the type does not say."""
    at_least: int | None = None
    """The smallest whole number allowed."""
    scale: int = 1
    """What one unit on the command line is worth: 1 << 20 where a user gives megabytes."""
    repeat: bool = False
    """The flag may be given several times: one value is taken as it is, several as a list."""
    separator: str = ""
    """Several values stand in one text, parted by this sign."""
    spaces: bool = False
    """Those values keep the spaces around them: a token may begin with one."""
    others: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    """Further flags that set one value each: `{"--no-ci": ("none", "no intervals")}`."""
    written: bool = False
    """It names what is written, which is on this machine."""
    hidden: bool = False
    """Not on the command line: another option sets it there."""


@dataclass(frozen=True)
class Parameter:
    """One thing that a function takes, with all that is known of it."""

    name: str
    hint: Any
    """Its type, without the `Option`."""
    default: Any
    """`MISSING` where it must be given."""
    option: Option | None = None

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def flag(self) -> str:
        """How the command line spells it."""
        if self.option is not None and self.option.flag:
            return self.option.flag
        spelled = self.name.replace("_", "-")
        return f"--no-{spelled}" if self.default is True else f"--{spelled}"

    @property
    def settings(self) -> type | None:
        """The dataclass whose fields are its settings, where it is one (`options`, `limits`)."""
        kind, *others = alternatives(self.hint)
        return kind if isinstance(kind, type) and dataclasses.is_dataclass(kind) and not others else None


def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Everything a function takes, by name; keywords declared in a TypedDict (`**shared: Unpack[…]`) are among it.

    >>> def evaluate(data: str, *, bins: Annotated[int, Option("how many bins")] = 20) -> None: ...
    >>> {name: parameter.default for name, parameter in parameters(evaluate).items() if not parameter.required}
    {'bins': 20}
    """
    return dict(_parameters(inspect.unwrap(function)))


@cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        # A hint that only a type checker can resolve: names are still known, kinds are not.
        hints = {}
    known: dict[str, Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        if parameter.kind is parameter.VAR_KEYWORD:
            known |= _keywords(hint)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            known[name] = _parameter(name, hint, parameter.default)
    return known


def _keywords(hint: Any) -> dict[str, Parameter]:
    """The keywords of `Unpack[SomeTypedDict]`."""
    declared = next((kind for kind in typing.get_args(hint) if typing.is_typeddict(kind)), None)
    if declared is None:
        return {}
    hints = typing.get_type_hints(declared, include_extras=True)
    declared_keywords = {name: _parameter(name, kind, None) for name, kind in hints.items()}
    return {
        n: dataclasses.replace(p, default=p.option.default if p.option else None) for n, p in declared_keywords.items()
    }


def settings_of(kind: type) -> dict[str, Parameter]:
    """The fields of a dataclass of settings, as parameters. Where it has a `prefix`, their flags begin with that."""
    hints = typing.get_type_hints(kind, include_extras=True)
    settings = {f.name: _parameter(f.name, hints[f.name], _field_default(f)) for f in dataclasses.fields(kind)}
    prefix = getattr(kind, "prefix", "")
    return {name: _prefixed(parameter, prefix) for name, parameter in settings.items()} if prefix else settings


def _prefixed(parameter: Parameter, prefix: str) -> Parameter:
    if parameter.option is None:
        return parameter
    flag = f"--{prefix}{parameter.flag.removeprefix('--')}"
    return dataclasses.replace(parameter, option=dataclasses.replace(parameter.option, flag=flag))


def _field_default(declared: Any) -> Any:
    if declared.default is not dataclasses.MISSING:
        return declared.default
    if declared.default_factory is not dataclasses.MISSING:
        return declared.default_factory()
    return MISSING


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    if typing.get_origin(hint) is not Annotated:
        return Parameter(name, hint, default)
    option = next((part for part in hint.__metadata__ if isinstance(part, Option)), None)
    return Parameter(name, hint.__origin__, default, option)


@cache
def takes_anything(function: Callable[..., Any]) -> bool:
    """Whether a function takes keywords that nobody declared."""
    plain = inspect.unwrap(function)
    keywords = [p for p in inspect.signature(plain).parameters.values() if p.kind is p.VAR_KEYWORD]
    return bool(keywords) and not _keywords(typing.get_type_hints(plain, include_extras=True).get(keywords[0].name))


def alternatives(hint: Any) -> list[Any]:
    """The kinds that a value may be, without None: `int | None` is [int]."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return [kind for part in typing.get_args(hint) if part is not type(None) for kind in alternatives(part)]
    return [hint]


def flat_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The function's signature with every declared keyword spelled out, for `help()` and editors at run time."""
    plain = inspect.signature(function)
    kept = [p for p in plain.parameters.values() if p.kind is not p.VAR_KEYWORD]
    keywords = [
        inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default, annotation=p.hint)
        for p in parameters(function).values()
        if p.name not in plain.parameters
    ]
    bare = [p.replace(annotation=parameters(function)[p.name].hint) for p in kept]
    return plain.replace(parameters=[*bare, *keywords])


def described(function: Callable[..., Any]) -> str:
    """A line for every option of a function: its name and what it does, as the command line says it."""
    lines = []
    for parameter in parameters(function).values():
        if parameter.option is not None:
            # What is on unless told otherwise has words for the flag that turns it off.
            name = f"{parameter.name}=False" if parameter.default is True else parameter.name
            lines.append(f"    {name}: {parameter.option.help}{default_words(parameter)}")
    return "\n".join(lines)


def default_words(parameter: Parameter) -> str:
    """` (default: 20)`, or nothing where there is nothing to say or the help says it itself."""
    option, value = parameter.option, parameter.default
    if option is None or "(default" in option.help or value is MISSING or value is None or isinstance(value, bool):
        return ""
    if isinstance(value, int) and option.scale != 1:
        value //= option.scale
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = (option.separator or ",").join(map(str, value))
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str | int | float) or value == "":
        return ""
    return f" (default: {value:g})" if isinstance(value, float) else f" (default: {value})"
