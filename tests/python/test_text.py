"""Operators on text, beyond what ONNX's own suite asks."""

import aoe
import numpy as np
import pytest
from onnx_models import model, node

POOL = {
    "ngram_counts": [0, 3],  # three single words, then pairs
    "pool_strings": ["a", "b", "c", "a", "b", "b", "c"],
    "ngram_indexes": [4, 3, 2, 1, 0],
    "weights": [1.0, 2.0, 3.0, 4.0, 5.0],
}


def words(*texts):
    return np.array(texts, dtype=object)


def run(op, x, dtype="object", **attributes):
    built = model(
        [node(f"y = {op}(x)", **attributes)],
        {"x": (x.dtype.name, x.shape)},
        {"y": (dtype, None)},
    )
    return aoe.load(built.SerializeToString()).run({"x": x})["y"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("TF", [0, 2, 0, 2, 2]),
        ("IDF", [0, 4, 0, 2, 1]),
        ("TFIDF", [0, 8, 0, 4, 2]),
    ],
)
def test_n_grams_are_weighed_by_their_place_in_the_pool(mode, expected):
    y = run(
        "TfIdfVectorizer",
        words("a", "b", "x", "a", "b"),
        "float32",
        mode=mode,
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=0,
        **POOL,
    )
    assert y.tolist() == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"case_change_action": "UPPER"}, ["ÉTÉ", "ΣΑΣ", "A1"]),
        ({"case_change_action": "LOWER", "stopwords": ["A1"]}, ["été", "σας"]),
        ({"stopwords": ["été"]}, ["Σας", "a1"]),
        ({"stopwords": ["été"], "is_case_sensitive": 1}, ["Été", "Σας", "a1"]),
        ({"stopwords": ["été", "ΣΑΣ", "a1", "σας"]}, [""]),
    ],
)
def test_letters_of_all_alphabets_change_case(attributes, expected):
    assert run("StringNormalizer", words("Été", "Σας", "a1"), **attributes).tolist() == expected
