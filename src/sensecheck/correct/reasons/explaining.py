"""From wrong predictions to their reasons: changes are tried on the database, many predictions at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sensecheck.correct.reasons.answers import kept_columns, table_reason, whole_reason
from sensecheck.correct.reasons.changes import Change, Pair
from sensecheck.correct.reasons.differing import CLAUSES, Difference, differences
from sensecheck.correct.reasons.kinds import Explanation, Why
from sensecheck.correct.reasons.reading import Query, caseless, parsed, resolved, shown, table_names
from sensecheck.correct.sql_compare import GoldPlan, compare
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.inputs.json_arrays import many_objects
from sensecheck.stores import Answer, Failure, Outcome, Request
from sensecheck.stores.outcomes import LIMIT_REASONS
from sensecheck.stores.sql_gate import quoted

Trials = Callable[[Sequence[Request], Callable[[Request, Outcome], None]], None]
"""Asks for requests and hands out each outcome as it comes; some may be left out."""

FIRST_TRIALS, SECOND_TRIALS = 2, 3
"""Of single changes that are tried at once for a prediction, where no others may be needed;"""
MOST_TRIALS = 12
"""of all of them;"""
MOST_PAIRS = 3
"""and of two at a time."""
MOST_CLAUSES = 3
"""Where more clauses differ, two of them are not tried."""
SLOW_SECONDS = 0.25
"""Where prediction and gold together take longer, nothing is tried."""
FEW_ROWS = 1
"""An answer of no more rows may be met by accident."""
CASES_AT_ONCE = 400
"""Whose trees are held, and whose changes are asked for together."""
KEPT_GOLDS = 20_000


@dataclass(slots=True)
class Case:
    """A prediction that is wrong on a database, which it ran on."""

    prediction: str
    gold: str
    files: Sequence[str]
    """All databases of the schema, and"""
    file: str
    """the first on which the prediction is wrong."""
    gold_answers: Mapping[str, Answer]
    keyed: Mapping[str, Answer]
    """What the gold answers with its sort keys, by file."""
    predicted: Answer
    plan: GoldPlan


@dataclass(slots=True)
class _Work:
    """What is known of a case so far."""

    case: Case
    pair: Pair | None = None
    whole: Explanation | None = None
    """The reason by the answers, where one thing explains the whole difference."""
    waiting: list[tuple[Change, ...]] = field(default_factory=list)
    """Changes that may be tried, the smallest first."""
    known: set[str] = field(default_factory=set)
    """Texts that need not be tried (again)."""
    tried: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """Texts that are being tried, the smallest change first."""
    equal: set[str] = field(default_factory=set)
    over: bool = False
    """Whether something that was tried ran over a limit."""
    found: tuple[Change, ...] = ()
    repaired_tree: Any = None
    """The prediction with the one change that was found, in our names,"""
    repaired_text: str = ""
    """and its text."""
    repaired: str = ""
    """The same in the names of the prediction."""
    like: _Work | None = None
    """One whose prediction is the same but for names and spelling: what holds of that holds of this."""
    differences: list[Difference] | None = None

    def write_repaired(self) -> None:
        if self.like is not None:
            self.repaired_tree, self.repaired_text = self.like.repaired_tree, self.like.repaired_text
        elif len(self.found) == 1 and self.pair is not None:
            self.repaired_tree, self.repaired_text = self.pair.changed(self.found), self.pair.text(self.found) or ""


def _without_repeats(works: Sequence[_Work]) -> list[_Work]:
    """Those to be looked at; others are marked to be like one of them."""
    first: dict[tuple[str, ...], _Work] = {}
    for work in works:
        if work.pair is not None:
            case = work.case
            text = guarded("writing a query", work.pair.text, ())
            key = (case.prediction if not isinstance(text, str) else caseless(text), case.gold, case.file, *case.files)
            same = first.setdefault(key, work)
            work.like = None if same is work else same
    return [work for work in works if work.like is None]


class Explainer:
    """Reasons of wrong tables. What is learnt of databases and golds is kept."""

    def __init__(self, dialect: str, trials: Trials, *, coerce: bool = False, strict_ties: bool = False) -> None:
        self.dialect = dialect
        self._compare = partial(compare, coerce=coerce, strict_ties=strict_ties)
        self._trials = trials
        self._columns: dict[str, dict[str, list[str]]] = {}
        self._golds: dict[tuple[str, str], Query | None] = {}

    def explain(self, cases: Sequence[Case]) -> list[Explanation]:
        """A reason for every case, in order."""
        # Those of one gold together: several systems often say the same.
        places = sorted(range(len(cases)), key=lambda place: (cases[place].file, cases[place].gold))
        found: dict[int, Explanation] = {}
        for start in range(0, len(places), CASES_AT_ONCE):
            chosen = places[start : start + CASES_AT_ONCE]
            with many_objects():
                found |= zip(chosen, self._explain([cases[place] for place in chosen]), strict=True)
        return [found[place] for place in range(len(cases))]

    def _explain(self, cases: Sequence[Case]) -> list[Explanation]:
        everything = [_Work(case) for case in cases]
        self._take_apart(everything)
        works = _without_repeats(everything)
        self._find(works, _by_answers)
        self._try(works, FIRST_TRIALS)
        self._find(works, lambda work, pair: [(change,) for change in pair.single()])
        for most in (FIRST_TRIALS, SECOND_TRIALS, MOST_TRIALS - FIRST_TRIALS - SECOND_TRIALS):
            self._try(works, most)
        self._find(works, self._pairs)
        self._try(works, MOST_PAIRS)
        for work in everything:
            work.write_repaired()
        self._confirm([work for work in everything if work.repaired_tree is not None])
        return [self._explained(work) for work in everything]

    # ---- taking queries apart

    def _take_apart(self, works: Sequence[_Work]) -> None:
        trees: list[tuple[_Work, Any]] = []
        gold_trees: dict[tuple[str, str], Any] = {}
        wanted: dict[str, set[str]] = {}
        for work in works:
            case = work.case
            gold_answer = case.gold_answers[case.file]
            whole = guarded("comparing answers", whole_reason, gold_answer, case.predicted, case.plan)
            work.whole = None if isinstance(whole, Fault) else whole
            if gold_answer.seconds + case.predicted.seconds > SLOW_SECONDS:
                continue
            tree = parsed(case.prediction, self.dialect)
            if tree is None:
                continue
            trees.append((work, tree))
            names = wanted.setdefault(case.file, set())
            names |= table_names(tree)
            key = (case.gold, case.file)
            if key not in self._golds and key not in gold_trees:
                gold_trees[key] = parsed(case.gold, self.dialect)
                names |= set() if gold_trees[key] is None else table_names(gold_trees[key])
        self._look_up(wanted)
        if len(self._golds) > KEPT_GOLDS:
            self._golds.clear()
        for (text, file), gold_tree in gold_trees.items():
            known = self._columns.get(file, {})
            self._golds[text, file] = None if gold_tree is None else resolved(gold_tree, self.dialect, known)
        for work, tree in trees:
            gold = self._golds.get((work.case.gold, work.case.file))
            columns = self._columns.get(work.case.file, {})
            predicted = None if gold is None else resolved(tree, self.dialect, columns)
            if predicted is not None and gold is not None:
                work.pair = Pair(predicted, gold)

    def _look_up(self, wanted: Mapping[str, set[str]]) -> None:
        """Which columns tables have: an empty answer says it."""
        asked: dict[Request, tuple[str, str]] = {}
        for file, names in wanted.items():
            known = self._columns.setdefault(file, {})
            for name in names - known.keys():
                asked[Request(f"SELECT * FROM {quoted(name)} LIMIT 0", file)] = (file, name)

        def take(request: Request, outcome: Outcome) -> None:
            if isinstance(outcome, Answer):
                file, name = asked[request]
                self._columns[file][name] = outcome.columns

        self._trials(list(asked), take)

    # ---- trying changes

    def _pairs(self, work: _Work, pair: Pair) -> list[tuple[Change, ...]]:
        """Two changes at a time; none where a set operation is missing, which no other change makes up for."""
        found = self._differences(work)
        if len({clause for clause, _, _ in found}) > MOST_CLAUSES or (found and found[0][1] == Why.SET_OPERATION):
            return []
        return list(pair.double())

    def _find(self, works: Sequence[_Work], find: Callable[[_Work, Pair], list[tuple[Change, ...]]]) -> None:
        """Changes to be tried, where nothing was found yet."""
        for work in works:
            work.waiting = []
            if work.pair is not None and not work.found and not work.over:
                changes = guarded("finding changes", find, work, work.pair)
                possible = _possible(work)
                work.waiting = [] if isinstance(changes, Fault) else [some for some in changes if possible(some)]

    def _try(self, works: Sequence[_Work], most: int) -> None:
        """Try so many more of the changes that wait, where nothing was found yet."""
        asking: dict[Request, list[_Work]] = {}
        for work in works:
            work.tried, work.equal = {}, set()
            if work.pair is None or work.found or work.over or not work.waiting:
                continue
            texts = guarded("writing changes", _next_texts, work.pair, work.waiting, work.known, most)
            work.tried = {} if isinstance(texts, Fault) else texts
            for text in work.tried:
                asking.setdefault(Request(text, work.case.file), []).append(work)

        def take(request: Request, outcome: Outcome) -> None:
            for work in asking[request]:
                if isinstance(outcome, Failure):
                    work.over |= outcome.reason in LIMIT_REASONS
                elif self._is_right(work.case, outcome, request.database):
                    work.equal.add(request.text)

        self._trials(list(asking), take)
        for work in works:
            if not work.found and work.equal:
                found = [changes for text, changes in work.tried.items() if text in work.equal]
                work.found = next((changes for changes in found if self._is_credible(work, changes)), ())

    def _is_credible(self, work: _Work, changes: Sequence[Change]) -> bool:
        """Whether an equal answer shows that these changes were what it takes. An answer of one row or none is met by
        accident where large parts were exchanged and much else differs; and conditions do not make up for a set
        operation."""
        if any(change.exact for change in changes):
            return True
        found = self._differences(work)
        clauses = {change.clause for change in changes}
        if found and found[0][1] == Why.SET_OPERATION and clauses == {"where"}:
            return False
        rows = len(work.case.gold_answers[work.case.file].rows)
        large = clauses & {"from", "set operation"} or any(change.why == Why.CONDITION_ADDED for change in changes)
        if rows > FEW_ROWS or (rows and not large):
            return True
        left = {clause for clause, _, _ in found} - clauses
        return len(left) < (2 if rows else 1)

    def _differences(self, work: _Work) -> list[Difference]:
        if work.differences is None:
            found = [] if work.pair is None else guarded("finding differences", differences, work.pair)
            work.differences = [] if isinstance(found, Fault) else found
        return work.differences

    def _is_right(self, case: Case, outcome: Answer, file: str) -> bool:
        gold, keyed = case.gold_answers[file], case.keyed.get(file)
        if len(gold.rows) != len(outcome.rows) and case.plan.limit is None:
            return False
        verdict = guarded("comparing answers", self._compare, gold, outcome, case.plan, keyed)
        return not isinstance(verdict, Fault) and verdict.equal

    def _confirm(self, works: Sequence[_Work]) -> None:
        """The repaired queries in the words of the predictions, on every database of their schema."""
        asking: dict[Request, list[_Work]] = {}
        texts: dict[int, list[str]] = {}
        answered: set[Request] = set()
        for work in works:
            assert work.pair is not None
            plain = work.repaired_text
            worded = guarded("writing a repaired query", shown, work.pair.names(), work.repaired_tree.copy())
            texts[id(work)] = [plain] if isinstance(worded, Fault) else [worded, plain]
            known = {plain} if isinstance(worded, Fault) or not work.pair.names_are_apart else {worded, plain}
            answered |= {Request(text, work.case.file) for text in known}
            for text in texts[id(work)]:
                for file in work.case.files:
                    if text not in known or file != work.case.file:
                        asking.setdefault(Request(text, file), []).append(work)
        wrong: set[tuple[int, str]] = set()

        def take(request: Request, outcome: Outcome) -> None:
            answered.add(request)
            for work in asking[request]:
                if not isinstance(outcome, Answer) or not self._is_right(work.case, outcome, request.database):
                    wrong.add((id(work), request.text))

        self._trials(list(asking), take)
        for work in works:
            for text in texts[id(work)]:
                if (id(work), text) not in wrong and all(Request(text, f) in answered for f in work.case.files):
                    work.repaired = text
                    break

    # ---- reasons

    def _explained(self, work: _Work) -> Explanation:
        explanation = guarded("finding a reason", self._reason, work)
        if isinstance(explanation, Fault):
            case = work.case
            return table_reason(case.gold_answers[case.file], case.predicted, case.plan)
        return explanation

    def _reason(self, work: _Work) -> Explanation:
        case = work.case
        looked_at = work.like or work
        if work.repaired:
            (change,) = looked_at.found
            whole = None if work.whole is None else work.whole.why
            if whole in (Why.ROUNDING, Why.NUMBER_AS_TEXT, Why.SPELLING):
                return Explanation(whole, change.words, work.repaired)
            if whole == Why.DUPLICATES and change.why == Why.WRONG_JOIN:
                words = f"The rows are the right ones, but not as often: {change.words}"
                return Explanation(Why.DUPLICATES, words, work.repaired)
            return Explanation(change.why, change.words, work.repaired)
        if work.whole is not None:
            return work.whole
        found = self._differences(looked_at)
        if len(looked_at.found) == 2 and not (found and found[0][1] == Why.SET_OPERATION):
            # Two clauses repair it: the larger difference of the two.
            changed = {change.clause for change in looked_at.found}
            both = [change for change in looked_at.found if change.clause == "from"] or looked_at.found
            told = [(clause, change_why, words) for clause, change_why, words in found if clause in changed]
            found = told or [(change.clause, change.why, change.words) for change in both]
            clauses = sorted(changed, key=CLAUSES.index)
        else:
            clauses = sorted({clause for clause, _, _ in found}, key=CLAUSES.index)
        if not found:
            return table_reason(case.gold_answers[case.file], case.predicted, case.plan)
        _, why, words = found[0]
        return Explanation(why, words, several=", ".join(clauses))


def _by_answers(work: _Work, pair: Pair) -> list[tuple[Change, ...]]:
    """Changes that the two answers ask for: columns left out, DISTINCT."""
    case = work.case
    gold = case.gold_answers[case.file]
    if work.whole is not None and work.whole.why == Why.EXTRA_COLUMN:
        kept = kept_columns(gold, case.predicted, case.plan)
        change = None if kept is None else pair.projection(kept)
        return [] if change is None else [(change,)]
    if work.whole is not None and work.whole.why == Why.DUPLICATES:
        return [(change,) for change in pair.toggled_distinct(len(case.predicted.rows) > len(gold.rows))]
    return []


def _possible(work: _Work) -> Callable[[Sequence[Change]], bool]:
    """Whether changes can make the answers equal at all, by what the answers are like."""
    assert work.pair is not None
    case, pair = work.case, work.pair
    gold = case.gold_answers[case.file]
    other_width = bool(gold.rows) and len(gold.columns) != len(case.predicted.columns) and not pair.has_star
    whole = None if work.whole is None else work.whole.why

    def is_possible(changes: Sequence[Change]) -> bool:
        clauses = {change.clause for change in changes}
        if other_width and not clauses & {"select", "set operation"}:
            return False
        if pair.is_cut:
            return True
        # Without LIMIT, sorting and DISTINCT leave the rows what they are.
        if clauses == {"order"}:
            return whole == Why.ORDER
        return clauses != {"distinct"} or whole == Why.DUPLICATES

    return is_possible


def _next_texts(
    pair: Pair, waiting: list[tuple[Change, ...]], known: set[str], most: int
) -> dict[str, tuple[Change, ...]]:
    """The texts of the next changes, each once; they wait no longer."""
    if not known:
        known.add(pair.text(()) or "")
    texts: dict[str, tuple[Change, ...]] = {}
    taken = 0
    for changes in waiting:
        if len(texts) == most:
            break
        taken += 1
        text = pair.text(changes)
        if text is not None and text not in known:
            known.add(text)
            texts[text] = changes
    del waiting[:taken]
    return texts
