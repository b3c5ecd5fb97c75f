"""Texts that try to do harm, as a model or a user might write them."""

from __future__ import annotations

HOSTILE: dict[str, str] = {
    "script": "<script>window.pwned=1</script>",
    "handler": "<img src=x onerror=window.pwned=1><svg onload=window.pwned=1>",
    "json breakout": '</script><script>window.pwned=1</script>"]}',
    "comment breakout": "--><script>window.pwned=1</script><!--<script>",
    "style": "</style><style>*{display:none!important}</style><p style=position:fixed;inset:0>x",
    "css": "red;}body{display:none}/*{{7*7}}{% raise %}${7*7}",
    "link": "<a href='javascript:window.pwned=1'>javascript:window.pwned=1</a>",
    "meta": "<meta http-equiv=refresh content='0;url=https://example.invalid/'><base href=//example.invalid>",
    "attribute breakout": "\"' autofocus onfocus=window.pwned=1 x='\"",
    "bidi": "abc\u202etxt.exe\u2066\u2069 \u200b\u200d\u200f",
    "controls": "nul\x00 bell\x07 back\x08 del\x7f c1\x9b31m",
    "ansi": "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]8;;https://example.invalid\x07link",
    "lines": "one\ntwo\r\nthree\u2028four\u2029five\ttab",
    "formula": '=HYPERLINK("https://example.invalid","x")',
    "markdown": "| [x](javascript:1) | `code` **bold** <b>",
    "latex": r"\input{/etc/passwd} $x_1$ % & # ~ ^ { }",
    "huge": "A" * 1_000_000,
    "combining": "Z" + "\u0301" * 5_000,
    "astral": "😀" * 300 + "\U0010ffff",
}
