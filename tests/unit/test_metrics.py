"""The exposition format of Prometheus."""

from __future__ import annotations

from fairway.metrics import Figure, Histogram, by_label, exponential, exposition, linear


def test_figures_of_one_metric_stand_together_under_one_heading() -> None:
    figures = [
        Figure("b_total", 1, (("code", "200"),), "counter", "Answers"),
        Figure("a", 0.5, (), "gauge", "A gauge"),
        Figure("b_total", 2, (("code", "503"),), "counter", "Answers"),
    ]
    assert exposition(figures) == (
        "# HELP a A gauge\n# TYPE a gauge\na 0.5\n"
        '# HELP b_total Answers\n# TYPE b_total counter\nb_total{code="200"} 1\nb_total{code="503"} 2\n'
    )


def test_a_histogram_counts_all_up_to_each_bound() -> None:
    histogram = Histogram((1, 2))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert exposition(histogram.figures("h", "How long")) == (
        "# HELP h How long\n# TYPE h histogram\n"
        'h_bucket{le="1"} 2\nh_bucket{le="2"} 3\nh_bucket{le="+Inf"} 4\nh_sum 12\nh_count 4\n'
    )


def test_labels_and_texts_are_escaped() -> None:
    text = exposition([Figure("m", 1, (("name", 'a"b\\c\nd'),), "gauge", "two\nlines")])
    assert text == '# HELP m two\\nlines\n# TYPE m gauge\nm{name="a\\"b\\\\c\\nd"} 1\n'


def test_large_and_small_values_keep_their_digits() -> None:
    text = exposition([Figure("t", 1700000000.25), Figure("s", 0.001)])
    assert "t 1700000000.25" in text
    assert "s 0.001" in text


def test_counts_by_label_are_sorted() -> None:
    assert [f.labels for f in by_label("m", "code", {"503": 1, "200": 2}, "counter", "")] == [
        (("code", "200"),),
        (("code", "503"),),
    ]


def test_bounds() -> None:
    assert exponential(1, 2, 4) == (1, 2, 4, 8)
    assert linear(1, 0.5, 3) == (1, 1.5, 2)
