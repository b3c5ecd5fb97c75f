"""The prompts, in one place: what is asked of a language model, word for word."""

from __future__ import annotations

NLI_PROMPT = (
    "Read the following and determine if the hypothesis can be inferred from the premise.\n"
    "Premise: <premise>\nHypothesis: <hypothesis>\n"
    "Answer with one word: entailment if it must be true, contradiction if it cannot be true, neutral otherwise."
)
"""What instruction-tuned models are asked by default; the answer is read by `nli_words.reader`."""

FLAN_PROMPT = (
    "Read the following and determine if the hypothesis can be inferred from the premise: "
    "Premise: <premise> Hypothesis: <hypothesis>"
)
"""The published winning prompt; Flan-T5 answers it with yes, no or 'it is not possible to tell'."""

STATEMENT_PROMPTS = {
    False: "Generate a statement that contradicts the following statement: <hypothesis>",
    True: "Rephrase the following sentence while preserving its original meaning: <hypothesis>",
}
"""One statement a call, by polarity (True: it follows)."""

LIST_PROMPTS = {
    False: "Write a numbered list of <n> different statements, each of which contradicts the following statement. "
    "Write the list only.\n<hypothesis>",
    True: "Write a numbered list of <n> different rephrasings of the following statement, each with exactly the same "
    "meaning. Write the list only.\n<hypothesis>",
}
"""n statements in one call."""


def fill(prompt: str, premise: str, hypothesis: str) -> str:
    """Both places filled at once, so that a text that holds the word <hypothesis> stays as it is."""
    before, mark, after = prompt.partition("<premise>")
    if not mark:
        return prompt.replace("<hypothesis>", hypothesis)
    return before.replace("<hypothesis>", hypothesis) + premise + after.replace("<hypothesis>", hypothesis)
