"""Columns of a query: spoken of where it has them, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import names_things, told_by_adjective, told_by_age
from sensecheck.faithful.matching.leftover import asked_by_noun, declined_words, leftover, loosely_told, spoken
from sensecheck.faithful.matching.names import literal_positions, share_told, told_by_kind
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.language.morphology import lemma


@rule("query")
def columns(a: Alignment) -> Iterator[Finding]:
    """Columns of the query should be spoken of; columns spoken of should be in the query."""
    unmentioned: list[Fact] = []
    for fact in a.reading.facts:
        if fact.kind in ("column", "group") and fact.name.words:
            mention = a.mention_of(fact)
            if mention.score >= 0.5:
                yield said(fact, "column", mention.positions)
            else:
                unmentioned.append(fact)
    others = [(name, positions) for name, positions in _other_columns(a) if _named_itself(a, name, positions)]
    if others and not a.weighed and spoken(a):
        others = [(name, positions) for name, positions in others if _attribute_spoken_of(a, name, positions)]
    keys = a.guards["keys"]
    # What groups are joined by, and the key of a self-evident condition, go unsaid.
    swappable = (f for f in unmentioned if not (f.kind == "group" and f.optional))
    swapped = next((f for f in swappable if f.role != "where" or f.name.words[-1] not in keys), None)
    if swapped is not None and others and _in_place_of(a, swapped, others):
        yield contradicted(swapped, "column_swapped", others[0][1])
        return
    untold = _untold_column(a)
    if untold is not None:
        finding = f"column_untold_{untold.role}" if untold.kind == "column" else f"{untold.kind}_untold"
        yield missing(untold, "column_loosely_told" if not a.weighed and loosely_told(a, untold) else finding)
    for fact in unmentioned:
        if fact is not untold:
            yield unsaid(fact, "column")
    for name, positions in others:
        if _attribute_like(a, name, positions):
            first, last = min(positions), max(positions) + 1
            yield added(a.sentence, "column", "column_added", range(first, last if last - first < 5 else first + 1))
            return


def _in_place_of(a: Alignment, fact: Fact, others: Sequence[tuple[Name, list[int]]]) -> bool:
    """Whether columns that are named may stand in the place of one that is not."""
    if a.weighed:
        return True
    if told_by_kind(a.sentence, fact.name):
        return False
    if a.reading.is_label(fact) and a.says("who_words") and spoken(a):  # who worked that day, any of the slots
        return any(_asked_itself(a, positions) for _, positions in others)
    return True


def _asked_itself(a: Alignment, positions: list[int]) -> bool:
    """Whether a word that asks stands right before words: what slot, which of the slots."""
    before = a.sentence.lows[max(0, min(positions) - 3) : min(positions)]
    return not a.guards["asking"].isdisjoint(before)


def _untold_column(a: Alignment) -> Fact | None:
    """A column that the sentence gives no hint of, where people would."""
    if _odd_group(a):
        return a.reading.of("group")[0]
    for fact in a.reading.facts:
        goes_unsaid = _GOES_UNSAID.get(fact.kind)
        if goes_unsaid is None or not fact.name.words or a.mention(fact.name).literal == 1:
            continue  # nothing is left of a name that is said word by word
        if not goes_unsaid(a, fact) and not a.told(fact):
            return fact
    return None


def _selected(a: Alignment) -> set[Name]:
    return {f.name for f in a.reading.of("column") if f.role == "select"}


def _odd_group(a: Alignment) -> bool:
    """One table, one column beside an aggregate, and the rows are grouped by another column."""
    groups = a.reading.of("group")
    if not len(groups) == len(a.reading.of("table")) == 1:
        return False
    name, selected = groups[0].name, _selected(a)
    return len(selected) == 1 and name not in selected and share_told(a.sentence, name, a.reading.entities) < 0.9


def _unsaid_column(a: Alignment, fact: Fact) -> bool:
    if fact.role not in ("select", "aggregate"):
        return True
    name, vocabulary, tables = fact.name, a.vocabulary, [f.name for f in a.reading.of("table")]
    if (
        name.words[-1] in a.guards["identity"]
        and all(k in vocabulary.generic or _of_table(a, w, k) for w, k in zip(name.words, name.stems, strict=True))
        and any(a.mention(table).score >= 0.5 for table in tables)
    ):
        return True  # which song: its title
    if fact.role == "select" and not a.weighed and _only_numbers(a, fact) and spoken(a) and asked_by_noun(a, fact):
        return True  # which line goes there: its number
    if fact.role == "select" and (
        _stands_for_thing(a, name, tables) or _row_asked_for(a, fact) or _place_asked_for(a, fact)
    ):
        return True  # find the thinnest pipe: its id
    extremes = (f for f in a.reading.of("aggregate") if f.aggregate in ("max", "min") and f.name == name)
    if fact.role == "aggregate" and not a.weighed and any(told_by_adjective(a, f) or _by_time(a, f) for f in extremes):
        return True  # the strongest lot of it: its dose
    if vocabulary.amounts.issuperset(name.stems) and any(a.mention(table).literal > 0 for table in tables):
        return True  # the average fine: its amount
    # For each investor: its id.
    return any(f.name == name for f in a.reading.of("group")) and a.mention(name).literal > 0


def _by_time(a: Alignment, fact: Fact) -> bool:
    """The earliest anybody was booked: in which minute."""
    times = ("time_up", "time_down")
    kinds = a.vocabulary.kinds_of(fact.name)
    return not kinds.isdisjoint(("duration", "sequence")) and any(
        a.vocabulary.classes.get(s.word) in times for s in a.of("superlative")
    )


def _unsaid_compared(a: Alignment, fact: Fact) -> bool:
    name, number = fact.name, fact.number
    if fact.role != "where" or fact.value is None:
        return True
    if number is not None and not fact.direction and _counts_as_name(a, fact):
        return True  # line 9
    if "id" in name.words:  # store 1, flight JFK-2; but an id over 5 or like a word is no such name
        if number is None:
            return any(c.isdigit() for c in fact.value)
        return not fact.direction and a.mention(name).literal > 0
    if number is None or 1500 <= number <= 2100 or number in (0, 1):
        return True  # a year, a yes or no
    return not names_things(a, name)  # ran over 150 minutes: verbs tell of a measure in more ways than can be listed


def _counts_as_name(a: Alignment, fact: Fact) -> bool:
    """Whether a word of the column stands right before its number (line 9), or the number stands for the thing (on the
    43)."""
    words = a.said.get(fact)
    if words is None or not words.positions:
        return False
    before, after = min(words.positions) - 1, a.sentence.low(max(words.positions) + 1)
    if a.sentence.low(before) == "the" and (not after.isalpha() or after in a.guards["talk"]) and not a.weighed:
        return True
    if fact.name.words[-1] not in a.guards["keys"]:
        return False
    if spoken(a) and (before in leftover(a) or before in a.mention(fact.table).positions):
        return True  # drop 17
    return any(before in literal_positions(a.sentence, word) for word in fact.name.words)


def _unsaid_ordered(a: Alignment, fact: Fact) -> bool:
    name = fact.name
    if fact.aggregate == "count" or ("id" in name.words and fact.aggregate):
        return True
    if told_by_adjective(a, fact) or told_by_age(a, fact):
        return True
    # All films alphabetically, A to Z: by their title.
    lettered = bool(a.of("alphabetical")) or "z" in a.sentence.by_low
    return lettered and (name.words[-1] in a.guards["identity"] or a.reading.is_label(fact))


def _unsaid_grouped(a: Alignment, fact: Fact) -> bool:
    # What tables are joined by stands for a thing: people name the thing.
    return fact.optional or fact.name in _selected(a) or not a.guards["keys"].isdisjoint(fact.name.words)


_GOES_UNSAID: dict[str, Callable[[Alignment, Fact], bool]] = {
    "column": _unsaid_column, "comparison": _unsaid_compared, "order": _unsaid_ordered, "group": _unsaid_grouped,
}  # fmt: skip
"""Kind of fact → whether people may leave its column unsaid."""


def _stands_for_thing(a: Alignment, name: Name, tables: Sequence[Name]) -> bool:
    """Whether a column only tells which thing is meant (a key, a nickname, a first and last name), and the sentence
    asks for the things themselves, naming no such column."""
    sentence, naming = a.sentence, a.guards["naming"]
    if name.words[-1] in a.guards["own_names"]:
        table_stems = {k for t in tables for k in t.stems}
        if any(k in a.reading.entities and k not in table_stems for k in name.stems):
            return False  # the name of something else
    elif not all(
        a.vocabulary.abbreviations.get(w, w) in naming or _of_table(a, w, k)
        for w, k in zip(name.words, name.stems, strict=True)
    ):
        return False
    if "who" not in sentence.by_low and not _asked_for(a, tables):
        return False
    # But `name the owners` names no column.
    return not any(lemma(low) in naming and positions != [0] for low, positions in sentence.by_low.items())


def _row_asked_for(a: Alignment, fact: Fact) -> bool:
    """Whether the column is the one by which people mean a row of its table, and rows are asked for: who, which inns,
    everything we sell."""
    if a.weighed or not (a.reading.is_label(fact) or _only_key(a, fact)):
        return False
    others = (name for name in a.reading.labels_of(fact.table) if name != fact.name and len(name.words) > 1)
    if any(a.mention(name).literal == 1 for name in others) or "id" in a.sentence.by_stem:
        return False  # the last names: not the first names too; the ids: not the names
    if a.says("row_words") or a.mention(fact.table).score >= 0.5:
        return True
    return not a.reading.of("group") and bool(leftover(a))  # suppliers from anywhere but Linz


def _only_numbers(a: Alignment, fact: Fact) -> bool:
    """Whether a column only numbers the rows of its table."""
    return fact.name.words[-1] in ("id", "no", "number") and len(fact.name.words) > 1 and _of_table_itself(a, fact)


def _only_key(a: Alignment, fact: Fact) -> bool:
    """Whether the rows of a table have no name and are meant by their number: any games that nobody came to."""
    return (
        fact.name.words[-1] == "id" and not a.reading.labels_of(fact.table) and _of_table_itself(a, fact) and spoken(a)
    )


def _of_table_itself(a: Alignment, fact: Fact) -> bool:
    return all(_of_table(a, w, k) for w, k in zip(fact.name.words[:-1], fact.name.stems[:-1], strict=True))


def _place_asked_for(a: Alignment, fact: Fact) -> bool:
    """Whether a column tells which place is meant, and a place is asked for: where can I go with a dog."""
    if a.weighed or not a.says("where_words") or a.guards["places_to_be"].isdisjoint(map(lemma, fact.table.words)):
        return False
    return fact.name.words[-1] in a.guards["keys"] or a.reading.is_label(fact)


def _asked_for(a: Alignment, tables: Sequence[Name]) -> bool:
    """Whether the things of a table are asked for: the countries; not the area of the country, nor its country code."""
    sentence, heads = a.sentence, a.guards["list_heads"]
    first = min((i for t in tables for w in t.words for i in literal_positions(sentence, w)), default=None)
    if first is None or any(i < first and sentence.lows[i - 1] not in heads for i in sentence.by_low.get("of", ())):
        return False
    return first + 1 >= sentence.n or sentence.tokens[first + 1].stem not in a.reading.vocabulary


def _of_table(a: Alignment, word: str, key: str) -> bool:
    """Whether a word is that of a table, or a part of it: cust of customer, paper of newspaper."""
    entities = a.reading.entities
    return key in entities or (len(word) > 2 and any(e.startswith(word) or e.endswith(word) for e in entities))


def _other_columns(a: Alignment) -> Iterator[tuple[Name, list[int]]]:
    """Columns that the sentence names in full while the query does not use them."""
    by_stem, candidates, generic = a.sentence.by_stem, a.reading.other_index, a.vocabulary.generic
    said = [n for key in by_stem if key in candidates for n in candidates[key] if all(k in by_stem for k in n.stems)]
    if not said:
        return
    covered = {i for i, owner in enumerate(a.owner) if owner in ("value", "quote", "hint")}
    covered.update(i for cue in a.of("negation") for i in declined_words(a, cue))
    covered.update(i for name in a.reading.names for w in name.words for i in literal_positions(a.sentence, w))
    for name in dict.fromkeys(said):
        if name.words[-1] in a.guards["function_words"] and a.sentence.find(name.stems) < 0:
            continue  # somebody on file: not what was filed on a day
        uncovered = {key: [i for i in by_stem[key] if i not in covered] for key in name.stems}
        telling = [key for key in name.stems if key not in generic]
        positions = [i for key in name.stems for i in uncovered[key]]
        if positions and all(uncovered[key] for key in telling) and (telling or len(name.words) == 1):
            yield name, positions


def _named_itself(a: Alignment, name: Name, positions: list[int]) -> bool:
    """Whether the words are those of the name, and no verb made of the same stem: carded names no card."""
    words, lemmas = name.words, set(map(lemma, name.words))
    lows = (a.sentence.low(i) for i in positions)
    return any(low in words or (lemma(low) in lemmas and not low.endswith("ed")) for low in lows)


def _attribute_spoken_of(a: Alignment, name: Name, positions: list[int]) -> bool:
    """Whether words that name a column ask for it: not all the firms, where a firm is what a row is called, nor so much
    as a crate of the crates."""
    before = a.sentence.low(min(positions) - 1)
    labels = {label for _, labels in a.reading.labelled for label in labels}
    if name in labels and len(name.words) == 1:
        return not a.guards["asking"].isdisjoint((before, a.sentence.low(min(positions) - 2)))
    if before in a.guards["one"] or before in a.guards["any"] or a.sentence.low(max(positions) + 1) == "-":
        return False
    verb = name.words[0]
    if verb == lemma(verb) or verb.endswith("s"):
        return True
    return told_by_kind(a.sentence, name)  # a ship came in: nobody asks when


def _attribute_like(a: Alignment, name: Name, positions: list[int]) -> bool:
    """Whether the words speak of an attribute of things, not of the things themselves."""
    vocabulary, low, guards = a.vocabulary, a.sentence.low, a.guards
    if vocabulary.generic.issuperset(name.stems):
        return False
    first, head = min(positions), max(positions)
    if any(low(i) in vocabulary.superlatives or low(i) in vocabulary.operator_words for i in positions):
        return False
    word, before, after = low(head), low(first - 1), low(head + 1)
    if lemma(word) not in (lemma(w) for w in name.words):
        return False  # a verb made of the same stem
    if before in guards["counted"] or (before == "of" and low(first - 2) in guards["number_heads"]):
        return False
    if word != lemma(word):  # plural
        return after in guards["plural_followers"] and before not in guards["question_words"]
    return after not in guards["clause_starts"]
