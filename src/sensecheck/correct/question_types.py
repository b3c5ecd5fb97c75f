"""The question types of SPICE, and the sub-types in which each linguistic phenomenon shows."""

from __future__ import annotations

SET_TYPES = (
    "Clarification",
    "Comparative Reasoning (All)",
    "Logical Reasoning (All)",
    "Quantitative Reasoning (All)",
    "Simple Question (Coreferenced)",
    "Simple Question (Direct)",
    "Simple Question (Ellipsis)",
)
BOOLEAN_TYPE = "Verification (Boolean) (All)"
COUNT_TYPES = ("Quantitative Reasoning (Count) (All)", "Comparative Reasoning (Count) (All)")
QUESTION_TYPES = (*SET_TYPES, BOOLEAN_TYPE, *COUNT_TYPES)

ELLIPSIS_SUBTYPES = (
    "Logical|Difference|Single_Relation|Incomplete",
    "Logical|Intersection|Single_Relation|Incomplete",
    "Logical|Union|Single_Relation|Incomplete",
    "Comparative|More/Less|Mult. entity type|Incomplete",
    "Comparative|More/Less|Single entity type|Incomplete",
    "Incomplete|object parent is changed, subject and predicate remain same",
    "Incomplete count-based ques",
    "Comparative|Count over More/Less|Mult. entity type|Incomplete",
    "Comparative|Count over More/Less|Single entity type|Incomplete",
)
MULTI_ENTITY_SUBTYPES = (
    "Logical|Difference|Multiple_Relation",
    "Logical|Intersection|Multiple_Relation",
    "Logical|Union|Multiple_Relation",
    "Quantitative|Atleast/ Atmost/ Approx. the same/Equal|Mult. entity type",
    "Quantitative|Min/Max|Mult. entity type",
    "Comparative|More/Less|Mult. entity type",
    "Comparative|More/Less|Mult. entity type|Incomplete",
    "Comparative|More/Less|Mult. entity type|Indirect",
    "Simple Question|Mult. Entity|Indirect",
    "Simple Question|Mult. Entity",
    "Verification|one entity, multiple entities (as object) referred indirectly",
    "Quantitative|Count over Atleast/ Atmost/ Approx. the same/Equal|Mult. entity type",
    "Quantitative|Count|Mult. entity type",
    "Comparative|Count over More/Less|Mult. entity type",
    "Comparative|Count over More/Less|Mult. entity type|Incomplete",
    "Comparative|Count over More/Less|Mult. entity type|Indirect",
)
