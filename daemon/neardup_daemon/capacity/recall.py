"""Predicts recall from edited words: the share of edited copies that bands find and thresholds accept."""

from math import erf, exp, log1p, sqrt

from neardup_stream.fingerprints.sketch import SketchConfig

__all__ = ["recall_of_edits", "resemblance_after_edits"]


def resemblance_after_edits(words: int, edited_words: float, config: SketchConfig) -> float:
    """Return the resemblance of a page and its copy in which words were replaced at random places.

    Args:
        words: tokens of the page.
        edited_words: of them, replaced by words that the page lacks.
        config: says how many words a shingle has; a shingle is kept if none of its words is edited.

    Returns:
        In [0, 1].

    >>> round(resemblance_after_edits(500, 50, SketchConfig()), 3)
    0.574
    """
    kept_share = max(0.0, 1 - edited_words / words) ** config.shingle_tokens
    return kept_share / (2 - kept_share)


def recall_of_edits(
    words: int,
    edited_words: float,
    config: SketchConfig,
    near_resemblance: float,
    near_containment: float,
    frame_share: float = 0.0,
) -> float:
    """Return the probability that a copy with edited words is reported as a duplicate.

    A copy is found if its page shares a band, with probability 1 - (1 - r**band_bins)**bands at resemblance
    r, and accepted if the estimates of its resemblance and containment reach the thresholds; an estimate errs
    by the standard error of the sketch. What simhash tables find besides is left out: little that bands miss.

    Args:
        words: tokens of the page.
        edited_words: of them, replaced.
        config: of the sketches.
        near_resemblance: threshold of `verdict.near_resemblance`.
        near_containment: threshold of `verdict.near_containment`.
        frame_share: share of the words that is the frame of their site, in which nothing is edited, in
            [0, 1). Once the frame is learned it is not compared.

    Returns:
        In [0, 1].
    """
    content_words = max(round(words * (1 - frame_share)), config.shingle_tokens)
    resemblance = resemblance_after_edits(content_words, edited_words, config)
    of_containment = near_containment / (2 - near_containment)  # of two pages of one length
    least = max(near_resemblance, of_containment)
    return _found_share(resemblance, config) * _accepted_share(resemblance, least, content_words, config)


def _found_share(resemblance: float, config: SketchConfig) -> float:
    """Return the probability that two pages share a band."""
    equal = resemblance**config.band_bins
    return 1.0 if equal >= 1 else 1 - exp(config.bands * log1p(-equal))


def _accepted_share(resemblance: float, least: float, words: int, config: SketchConfig) -> float:
    """Return the probability that the estimate reaches the threshold, by the normal approximation."""
    filled_bins = config.bins * (1 - exp(-max(words - config.shingle_tokens + 1, 1) / config.bins))
    chance = 1 / ((1 << config.code_bits) - 1)
    agreeing = resemblance + (1 - resemblance) * chance
    error = sqrt(agreeing * (1 - agreeing) / filled_bins) / (1 - chance)
    if error == 0:
        return float(resemblance >= least)
    return (1 + erf((resemblance - least) / (error * sqrt(2)))) / 2
