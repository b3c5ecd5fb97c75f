"""Columns, tables and names: spoken of where the query has them, and only there."""

from __future__ import annotations

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.connectives import Connectives
from sensecheck.faithful.matching.names import literal_positions, share_told, synonym_positions
from sensecheck.language.morphology import lemma


class Attributes(Connectives):
    """Rules for columns, tables, names and the form of the question."""

    def columns(self) -> None:
        """Columns of the query should be spoken of; columns spoken of should be in the query."""
        unsaid: list[Fact] = []
        for fact in self.reading.facts:
            if fact.kind not in ("column", "group") or not fact.name.words:
                continue
            mention = self.mention(fact.name)
            if mention.score < 0.5 and fact.also.words:
                mention = self.mention(fact.also)
            if mention.score >= 0.5:
                self.note("said", fact, "column", mention.positions)
            else:
                unsaid.append(fact)
        others = self.other_columns()
        telling_facts = [f for f in unsaid if not (f.role == "where" and f.name.words[-1] in self.guards["keys"])]
        if telling_facts and others:
            self.note("contradicted", telling_facts[0], "column_swapped", others[0][1])
            return
        untold = self.untold_column()
        if untold is not None:
            self.note(
                "missing",
                untold,
                f"{untold.kind}_untold_{untold.role}" if untold.kind == "column" else f"{untold.kind}_untold",
            )
        for fact in unsaid:
            if fact is not untold:
                self.note("unsaid", fact, "column")
        for name, positions in others:
            if self.attribute_like(name, positions):
                first, last = min(positions), max(positions) + 1
                self.added("column", "column_added", first, last if last - first < 5 else first + 1)
                return

    def untold_column(self) -> Fact | None:
        """A column that the sentence gives no hint of, where people would."""
        reading, sentence = self.reading, self.sentence
        selected = {f.name for f in reading.facts if f.kind == "column" and f.role == "select"}
        odd_group = self.odd_group(selected)
        if odd_group is not None:
            return odd_group
        grouped = {f.name for f in reading.facts if f.kind == "group"}
        tables = [f.name for f in reading.facts if f.kind == "table"]
        for fact in reading.facts:
            name = fact.name
            if not name.words:
                continue
            if fact.kind == "column" and fact.role in ("select", "aggregate"):
                if (
                    name.words[-1] in self.guards["identity"]
                    and all(
                        k in self.vocabulary.generic or self.of_table(w, k)
                        for w, k in zip(name.words, name.stems, strict=True)
                    )
                    and any(self.mention(t).score >= 0.5 for t in tables)
                ):
                    continue  # which song: its title
                if fact.role == "select" and self.stands_for_thing(name, tables):
                    continue  # find the thinnest pipe: its id
                if self.vocabulary.amounts.issuperset(name.stems) and any(self.mention(t).literal > 0 for t in tables):
                    continue  # the average fine: its amount
                if name in grouped and self.mention(name).literal > 0:
                    continue  # for each investor: its id
            elif fact.kind == "comparison":
                if fact.role != "where" or fact.value is None:
                    continue
                if "id" in name.words:
                    # store 1, flight JFK-2; but an id over 5 or like a word is no such name
                    plain = fact.number is not None and not fact.direction
                    if plain and self.mention(name).literal > 0:
                        continue
                    if fact.number is None and any(c.isdigit() for c in fact.value):
                        continue
                elif fact.number is None or 1500 <= fact.number <= 2100 or fact.number in (0, 1):
                    continue  # a year, a yes or no
                elif not self.names_things(name):
                    continue  # ran over 150 minutes: verbs tell of a measure in more ways than can be listed
            elif fact.kind == "order":
                if fact.aggregate == "count" or ("id" in name.words and fact.aggregate):
                    continue
                if self.told_by_adjective(fact) or self.told_by_age(fact):
                    continue
                if "alphabetical" in self.kinds and name.words[-1] in self.guards["identity"]:
                    continue  # all films alphabetically: by their title
            elif fact.kind == "group":
                if name in selected or not self.guards["keys"].isdisjoint(name.words):
                    continue
                if fact.optional:
                    continue  # what tables are joined by stands for a thing: people name the thing
            else:
                continue
            if (
                max(
                    share_told(sentence, name, reading.entities),
                    share_told(sentence, fact.also, reading.entities) if fact.also.words else 0,
                )
                < 0.4
            ):
                return fact
        return None

    def stands_for_thing(self, name: Name, tables: list[Name]) -> bool:
        """Whether a column only tells which thing is meant (a key, a nickname, a first and last name), and the sentence
        asks for the things themselves, naming no such column."""
        sentence, naming = self.sentence, self.guards["naming"]
        if name.words[-1] in ("name", "title"):
            table_stems = {k for t in tables for k in t.stems}
            if any(k in self.reading.entities and k not in table_stems for k in name.stems):
                return False  # the name of something else
        elif not all(w in naming or self.of_table(w, k) for w, k in zip(name.words, name.stems, strict=True)):
            return False
        if any(lemma(low) in naming and positions != [0] for low, positions in sentence.by_low.items()):
            return False  # but `name the owners` names no column
        if "who" in sentence.by_low:
            return True
        table_positions = sorted(i for t in tables for w in t.words for i in literal_positions(sentence, w))
        if not table_positions:
            return False
        if any(
            i < table_positions[0] and sentence.lows[i - 1] not in ("list", "all")
            for i in sentence.by_low.get("of", ())
        ):
            return False  # the area of the country: no country is asked for
        after = table_positions[0] + 1
        return after >= sentence.n or sentence.tokens[after].stem not in self.reading.vocabulary

    def of_table(self, word: str, key: str) -> bool:
        """Whether a word is that of a table, or a part of it: cust of customer, paper of newspaper."""
        entities = self.reading.entities
        return key in entities or (len(word) > 2 and any(e.startswith(word) or e.endswith(word) for e in entities))

    def names_things(self, name: Name) -> bool:
        """Whether a column holds names, keys or other text: nothing that one compares by size."""
        return (
            name in self.reading.textual
            or name.words[-1] in self.guards["keys"]
            or name.stems[-1] in self.vocabulary.named
        )

    def told_by_adjective(self, fact: Fact) -> bool:
        """The busiest, the most valuable, from the most experienced on: the adjective stands for the measure, whatever
        its column is called. High, large or most do not: they want a noun, and it should be the column's."""
        if self.names_things(fact.name) or fact.name.stems[-1] in self.vocabulary.dated:
            return False
        classes, plain = self.vocabulary.classes, self.guards["plain_degrees"]
        return any(
            s.word not in plain and not classes.get(s.word, "").startswith(("time", "age"))
            for s in self.kinds.get("superlative", ())
        )

    def told_by_age(self, fact: Fact) -> bool:
        """The oldest, the latest, for longest, in chronological order: any column of times."""
        classes = self.vocabulary.classes
        if fact.name not in self.reading.timed and not self.vocabulary.kinds_of(fact.name) & {"time", "age"}:
            return False
        if "chronological" in self.sentence.by_low or "chronologically" in self.sentence.by_low:
            return True
        return any(
            s.word == "long" or classes.get(s.word, "").startswith(("time", "age"))
            for s in self.kinds.get("superlative", ())
        )

    def odd_group(self, selected: set[Name]) -> Fact | None:
        """One table, one column beside an aggregate, and the rows are grouped by another column."""
        reading = self.reading
        groups = reading.of("group")
        if len(reading.of("table")) != 1 or len(groups) != 1 or len(selected) != 1 or groups[0].name in selected:
            return None
        return groups[0] if share_told(self.sentence, groups[0].name, reading.entities) < 0.9 else None

    def other_columns(self) -> list[tuple[Name, list[int]]]:
        """Columns that the sentence names in full while the query does not use them."""
        reading, sentence = self.reading, self.sentence
        if not reading.other_names:
            return []
        if reading.other_index.keys().isdisjoint(sentence.by_stem):
            return []
        covered = {i for i, owner in enumerate(sentence.owner) if owner in ("value", "quote")}
        for name in reading.names:
            for word in name.words:
                covered.update(literal_positions(sentence, word))
        named: list[tuple[Name, list[int]]] = []
        candidates = reading.other_index
        for name in dict.fromkeys(n for key in sentence.by_stem if key in candidates for n in candidates[key]):
            positions: list[int] = []
            content_words = 0
            for key in name.stems:
                stem_positions = sentence.by_stem.get(key, ())
                if not stem_positions:
                    break
                uncovered = [i for i in stem_positions if i not in covered]
                if key not in self.vocabulary.generic:
                    content_words += 1
                    if not uncovered:
                        break
                positions.extend(uncovered)
            else:
                if positions and (content_words or len(name.words) == 1):
                    named.append((name, positions))
        return named

    def attribute_like(self, name: Name, positions: list[int]) -> bool:
        """Whether the words speak of an attribute of things, not of the things themselves."""
        if all(key in self.vocabulary.generic for key in name.stems):
            return False
        sentence = self.sentence
        lows = sentence.lows
        head = max(positions)
        word = lows[head]
        if any(lows[i] in self.vocabulary.superlatives or lows[i] in self.vocabulary.operator_words for i in positions):
            return False
        if lemma(word) not in (lemma(w) for w in name.words):
            return False  # a verb made of the same stem
        before = lows[min(positions) - 1] if min(positions) else ""
        earlier = lows[min(positions) - 2] if min(positions) > 1 else ""
        if before in self.guards["counted"] or (before == "of" and earlier in ("number", "amount", "count")):
            return False
        after = lows[head + 1] if head + 1 < sentence.n else ""
        if word != lemma(word):  # plural
            return after in ("of", ",", "and") and before not in ("which", "what")
        return after not in ("that", "who", "which", "whose", "with")

    def entities(self) -> None:
        """Quotations and capitalised words must come from the query."""
        sentence = self.sentence
        literals = {f.value.strip().lower() for f in self.reading.facts if f.value is not None}
        for first, last in sentence.quotes:
            if any(sentence.owner[i] == "value" for i in range(first, last)):
                continue
            if all(sentence.tokens[i].stem in self.reading.vocabulary for i in range(first, last)):
                continue
            if " ".join(sentence.lows[first:last]) in literals:
                continue
            if any(
                i in self.used_numbers for i, n in enumerate(sentence.numbers) if n.first >= first and n.last <= last
            ):
                continue
            self.added("entity", "quotation_added", first, last)
        at_start = True
        for i, token in enumerate(sentence.tokens):
            if token.kind == "sign":
                if token.text in ".?!:":
                    at_start = True
                continue
            first_word, at_start = at_start, False
            if token.kind != "word" or not token.text[0].isupper() or first_word or sentence.owner[i]:
                continue
            if token.stem in self.reading.vocabulary or token.low in self.vocabulary.operator_words:
                continue
            if token.low in self.guards["capitalised"] or token.low in self.vocabulary.superlatives:
                continue
            self.added("entity", "capitalised_added", i, i + 1)

    def tables(self) -> None:
        """No table of the query is spoken of, another one is."""
        table_facts = self.reading.of("table")
        for fact in table_facts:
            mention = self.mention(fact.name)
            if mention.score < 0.5 and fact.also.words:
                mention = self.mention(fact.also)
            self.note("said" if mention.score >= 0.5 else "unsaid", fact, "table", mention.positions)
        if not table_facts or not self.reading.other_tables:
            return
        sentence = self.sentence
        if any(f.kind == "column" and self.mention(f.name).score >= 0.5 for f in self.reading.facts):
            return
        for fact in table_facts:
            if any(
                literal_positions(sentence, w) or synonym_positions(sentence, w)
                for w in fact.name.words + fact.also.words
            ):
                return
        covered = {i for name in self.reading.names for w in name.words for i in literal_positions(sentence, w)}
        for name in self.reading.other_tables:
            stem_positions = [
                [i for i in sentence.by_stem.get(k, ()) if i not in covered and not sentence.owner[i]]
                for k in name.stems
            ]
            if stem_positions and all(stem_positions):
                self.note("contradicted", table_facts[0], "table_swapped", [w[0] for w in stem_positions])
                return

    def question_form(self) -> None:
        """A question that wants yes or no for a query that gives values."""
        lows = self.sentence.lows
        if self.reading.language == "sql" and lows and lows[0] in self.guards["auxiliaries"] and "or" not in lows:
            self.added("question", "yes_no_question", 0, 1)

    def misfits(self) -> None:
        for fact in self.reading.of("misfit"):
            self.note("contradicted", fact, "misfit")
