from dataclasses import fields, replace
from typing import get_args

import pytest

from neardup_stream.errors import BadPage, LimitName
from neardup_stream.text.limits import MarkupLimits
from neardup_stream.text.markup_costs import check_markup

AT_LIMIT: dict[str, tuple[LimitName, int, str]] = {
    "elements": ("max_nodes", 5, "<p>a<br>b<img><b>c</b><td>"),
    "attributes-are-nodes": ("max_nodes", 4, "<p a b=1 c='x y'>"),
    "attributes-of-one-value-each": ("max_attributes", 6, "<p a b=1 c='x > y' d=\"<p a b c d e>\" e = f g/>"),
    "attributes-of-the-root-gather": ("max_attributes", 4, "<html a b><body c><p><html d>"),
    "what-paragraphs-repeat": ("max_nodes", 9, "<p><font a><font b></p><p>"),
    "depth": ("max_depth", 3, "<div><section><span>a"),
    "depth-of-what-closes-itself-in-html": ("max_depth", 3, "<div/><div/><div/>"),
    "depth-behind-end-tags-of-others": ("max_depth", 3, "<div></b></i><div></section><div>"),
    "depth-of-formatting": ("max_depth", 4, "<b><b><b><b></u>x</b>"),
    "depth-of-what-is-often-left-open": ("max_depth", 4, "<ul><li><ul><li>a<li>b"),
    "depth-of-what-only-belongs-elsewhere": ("max_depth", 3, "<rp></x><rp></x><rp></x>"),
    "depth-of-groups-of-options": ("max_depth", 3, "<optgroup><optgroup><optgroup>x"),
    "depth-of-blocks-in-formatting": ("max_depth", 3, "<b><div></b><div><i></b>"),
    "depth-behind-end-tags-that-blocks-ignore": ("max_depth", 4, "<span><div></span><span><div></span>"),
    "depth-behind-end-tags-that-cells-ignore": (
        "max_depth",
        6,
        "<div><table><td></div><div><table><td></div>",
    ),
    "depth-of-blocks-in-items": ("max_depth", 4, "<li><pre><li><pre>x"),
    "depth-of-objects-in-paragraphs": ("max_depth", 4, "<p><object><p><object>x"),
    "depth-of-what-stands-in-options": ("max_depth", 4, "<option><div><option><div>x"),
    "depth-behind-cells-of-no-table": ("max_depth", 2, "<td><span><td><span></td>x"),
    "depth-in-titles-of-mathml": ("max_depth", 5, "<math><title></foreignObject><select><title><select>x"),
    "depth-of-parts-of-tables-in-svg": ("max_depth", 4, "<svg><colgroup><colgroup></u><tr>x"),
    "depth-of-empty-elements-of-html-in-svg": ("max_depth", 4, "<svg><input><link><wbr>x"),
    "depth-of-options-in-a-select-of-svg": (
        "max_depth",
        7,
        "<svg><select><desc><option><span><option><span>x",
    ),
    "depth-of-links-in-svg": ("max_depth", 4, "<a><svg><a><a>x"),
    "depth-behind-end-tags-of-objects-in-svg": ("max_depth", 3, "<svg><g><object></g><g><g>x</g></svg>"),
    "names-of-elements-and-attributes": ("max_names", 6, "<p a b=p>x<P A c='d'></q e>"),
    "steps": ("max_steps", 0 + 1 + 2 + 2 + 1, "<p><b>x</i></b></p>"),
    "formatting": ("max_formatting", 4, "<b><i><font a=1><font a=2>x"),
    "formatting-of-one-look-is-repeated-three-times": ("max_formatting", 3, "<b><b><b><b><b>"),
    "formatting-that-an-object-keeps-open": ("max_formatting", 2, "<b a=1><object></b></object><b a=2>"),
    "formatting-that-a-closed-block-leaves-to-an-object": (
        "max_formatting",
        2,
        "<p><b a=1></p><object></b></object><b a=2>",
    ),
    "formatting-that-a-list-to-choose-from-keeps-open": (
        "max_formatting",
        2,
        "<b a=1><select></b></select><b a=2>",
    ),
    "formatting-that-a-table-keeps-open": ("max_formatting", 2, "<nobr a=1><table><nobr a=2></table>"),
    "formatting-that-svg-keeps-open": ("max_formatting", 2, "<b a=1><svg><desc></b></desc></svg><b a=2>"),
    "formatting-that-mathml-keeps-open": (
        "max_formatting",
        2,
        "<b a=1><math><annotation-xml></b></annotation-xml></math><b a=2>",
    ),
    "options": ("max_options", 3, "<select><option>a<option>b</option></select><OPTION>c"),
    "indented-items-behind-ends-that-an-object-ignores": (
        "max_text_bytes",
        6,
        "<ul><li>a<object></ul><ul><li>b",
    ),
    "indented-items": ("max_text_bytes", 12, "<ul><li>a<ul><li>b<ol><li>c"),
    "text-around-tags-that-are-ignored": ("max_copied_bytes", 7, "<p>a</b c=d>bcdef<col a=b>g"),
    "text-around-comments-behind-the-body": (
        "max_copied_bytes",
        9,
        "<p>a</body><!--x--><p>",
    ),
    "text-in-front-of-tables": ("max_copied_bytes", 3, "<table>a<tr>b<td>c</table>"),
}


@pytest.mark.parametrize(("name", "count", "html"), AT_LIMIT.values(), ids=AT_LIMIT)
def test_markup_may_have_as_much_as_its_limit_and_no_more(name: LimitName, count: int, html: str) -> None:
    check_markup(html, replace(MarkupLimits(), **{name: count}))

    with pytest.raises(BadPage, match=f"limits.{name} = {count - 1}") as refused:
        check_markup(html, replace(MarkupLimits(), **{name: count - 1}))
    assert (refused.value.reason, refused.value.limit) == ("over_limit", name)


NO_DEPTH = {
    "closed": "<div></div>" * 9,
    "closed-by-what-is-around": "<div><span><x-icon></div>" * 9,
    "void": "<br><img><input>" * 9,
    "often-left-open": "<p>a<li>b<td>c" * 9,
    "script": "<script>'<div><div>' + \"</div\"</script>" * 9,
    "style-and-text": "<STYLE><div><div></Style ><textarea><div><div></textarea>",
    "comment": "<!-- <div><div> > <div> --><!doctype <div>" * 9,
    "attribute": "<br a='<div><div>' b=\"<div>\">" * 9,
    "no-tag": "a < b <3 </ <> <!> </3 <?div?>" * 9,
    "svg": "<svg><path/><g/><use/></svg>" * 9,
    "spans-in-paragraphs": "<p><span>a<p><span>b" * 9,
    "spans-in-paragraphs-that-blocks-end": "<p><span>a<div>b</div>" * 9,
    "formatting-in-cells": "<td><font>a<td><font>b",
    "links": "<a href=a>b" * 9,
    "links-in-tables": "<a href=a>b<table><td>c</table>" * 9,
    "headings-that-end-others": "<h1>a</h2>" * 9,
    "cells-of-no-table": "<tr><td>a" * 9,
    "forms-that-end-inside-others": "<div><form></div></form>" * 9,
    "cut-off": "<br a='<div><div><div>",
    "formatting-in-the-wrong-order": "<b><i></b></i>" * 9,
    "plain-text-from-here": "<plaintext>" + "<div>" * 9,
    "cdata-in-svg": "<svg><![CDATA[ > <div><div><div><div> ]]></svg>" * 9,
    "what-ends-svg": "<svg><p></p>" * 9,
    "links-that-end-in-svg": "<svg><a>x</a></svg>" * 9,
    "end-tags-in-svg": "<svg><tr><object></tr></svg>" * 9,
    "titles-of-svg": "<svg><title>a <b>x</b></title></svg>" * 9,
}


@pytest.mark.parametrize("html", NO_DEPTH.values(), ids=NO_DEPTH)
def test_markup_is_no_deeper_than_a_parser_finds_it(html: str) -> None:
    check_markup(html, MarkupLimits(max_depth=3))


HOSTILE = {
    "nested-formatting": "<i><div>" * 7_000,
    "formatting-around-blocks": "<b><b><b>" + "<div>" * 10_000,
    "attributes": "<p " + " ".join(f"a{number}" for number in range(64_000)) + ">",
    "attributes-of-the-root": "".join(f"<body a{number}>" for number in range(50_000)),
    "lists": "<ul><li>x" * 9_000,
    "flat-items-of-deep-lists": "<ul>" * 1_000 + "<li>x" * 100_000,
    "formatting-left-open": "".join(f"<p><font size={number}>x</p>" for number in range(2_000)),
    "formatting-repeated": "".join(f"<b a={number}>" for number in range(250)) + "</p><p>x" * 100_000,
    "options": "<select>" + "<option>x" * 200_000,
    "elements": "<p>" * 1_000_000,
    "formatting-inside-itself": "</b><small>" * 30_000,
    "annotations-without-what-they-annotate": "</plaintext><rp>" * 80_000,
    "end-tags-that-make-elements": "</p>" * 1_000_000,
    "names-of-attributes": "".join(f"<p a{number}>x" for number in range(80_000)),
    "names-of-elements": "".join(f"<x{number}>x</x{number}>" for number in range(80_000)),
    "end-tags-in-deep-markup": "<span>" * 1_000 + "</q>" * 300_000,
    "lists-in-objects": "<ul><li>x<object></ul>" * 20_000,
    "formatting-in-objects": "".join(f"<p><b a={n}><object></b></object>x</p>" for n in range(2_000)),
    "formatting-in-tables": "".join(f"<p><b a={n}><table></b></table>x</p>" for n in range(2_000)),
    "formatting-in-lists-to-choose-from": "".join(
        f"<p><b a={n}><select></b></select>x</p>" for n in range(2_000)
    ),
    "lines-that-may-not-break": "".join(f"<nobr a={n}><table><nobr a=b{n}></table>" for n in range(2_000)),
    "annotations-that-blocks-hold-open": "<rt><div></rt></div>" * 20_000,
    "spans-between-cells-of-no-table": "<td><span></q>" * 20_000,
}


DISGUISES = {
    "comment-that-ends-at-once": "<!-->",
    "comment-that-ends-after-a-hyphen": "<!--->",
    "comment-with-another-end": "<!-- --!>",
    "comment-in-cdata": "<svg><![CDATA[ > <!-- ]]>",
    "plain-text-in-svg": "<svg><plaintext>",
    "cdata-in-html-in-svg": "<svg><desc><![CDATA[>",
    "cdata-behind-svg": "<svg><p><![CDATA[>",
    "declaration": "<!doctype <p>",
    "end-tag-of-no-name": "</ <!-->",
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_no_disguise_keeps_markup_from_being_counted(disguise: str) -> None:
    with pytest.raises(BadPage, match="max_depth"):
        check_markup(disguise + "<div>" * 2_000, MarkupLimits())


COPIED = {
    "attributes-of-start-tags": "<p>" + "".join(f"xxxxxxxxx<col a{n}=b>" for n in range(25_000)),
    "attributes-of-end-tags": "<p>" + "".join(f"xxxxxxxxx</b a{n}=b>" for n in range(25_000)),
    "comments-in-tables": "<table>" + "xxxxxxxxx<!-- -->" * 25_000,
    "comments-behind-the-body": "xxxxxxxxx</body></html><!-- -->" * 25_000,
    "space-behind-the-body": "<p>x</body></html>" + "           <!-- -->" * 25_000,
    "cells": "<table>" + "xxxxxxxxx<tr><td>y</td></tr>" * 25_000,
}


@pytest.mark.parametrize("html", COPIED.values(), ids=COPIED)
def test_text_that_parsers_copy_again_and_again_is_over_a_limit(html: str) -> None:
    with pytest.raises(BadPage, match="max_copied_bytes"):
        check_markup(html, MarkupLimits())


ORDINARY = {
    "a-large-table": "<table>"
    + "<tr class=a>\n<td a=b>some words\n<td>of a cell\n<!-- x -->" * 20_000
    + "</table>",
    "a-long-text-with-scripts": "<p>" + ("some words " * 100 + "<script src=a></script><b>x</b>") * 1_000,
    "many-comments": "<p>"
    + "<!-- wp:paragraph --><p class=a>some words</p><!-- /wp:paragraph -->\n" * 10_000,
    "pages-one-behind-the-other": "<html><body><p>some words</p></body></html><!-- cached -->" * 200,
}


@pytest.mark.parametrize("html", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_markup_is_far_from_the_limit_of_copies(html: str) -> None:
    check_markup(html, MarkupLimits(max_copied_bytes=4 << 20))


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_markup_that_parsers_need_long_for_is_over_a_limit(html: str) -> None:
    with pytest.raises(BadPage, match="over_limit"):
        check_markup(html, MarkupLimits())


def test_errors_may_name_every_limit() -> None:
    assert {each.name for each in fields(MarkupLimits)} <= {*get_args(LimitName)}
