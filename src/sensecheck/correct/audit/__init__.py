"""Which golds may be wrong: every distinct gold query is looked at, and those with findings are ranked on a sheet.

`golds` gathers golds and what systems said to them, `outline` reads a query over its `schema`, `checks` are the
findings, `weights` what each is worth, `auditing` asks the databases, `sheet` ranks, shows and writes, `asking` makes
it a part of a run, `faithful_run` hears what another question says of the same golds.
"""
