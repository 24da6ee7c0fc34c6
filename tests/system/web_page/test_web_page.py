"""The web page in Chromium: every view over the demo's crawl and 10,000 clusters, and over hostile pages.

More than 350 lines, because all views are looked at in one browser, over servers that take long to fill.
"""

import json
from typing import Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.api_examples import EXAMPLES, shape
from tests.servers.browser import open_tab
from tests.shown_crawls import (
    CLUSTERS,
    HOSTILE,
    HOSTILE_REASON,
    LARGE_CLUSTER_PAGES,
    syndicated,
)
from tests.system.web_page.looks import (
    READY,
    TOKEN,
    Look,
    Shown,
    cluster_id,
    compare_view,
    fill_in,
    hostile_views,
    page_view,
)

GRAPH_PAGES = 200

INVISIBLE = {*"\u202e\u202c\u200b\u2800\u3164\u115f\uffa0\u034f\u180b\ufe0f\U000e0100"}


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.is_recent], ids=lambda each: each.path)
def test_the_examples_of_the_documentation_are_answered_as_it_shows(shown: Shown, example: object) -> None:
    answer = example.ask(shown.demo)  # type: ignore[attr-defined] # parametrize has no types

    assert (answer.status, shape(answer.value)) == (200, shape(example.answer))  # type: ignore[attr-defined]


def test_merges_and_dead_letters_are_those_of_the_topics(shown: Shown) -> None:
    merges, letters = shown.demo.get("/v1/merges").value, shown.demo.get("/v1/dead-letters").value

    merged = {
        merge[side]["representative"]["id"] for merge in merges["merges"] for side in ("survivor", "absorbed")
    }
    assert merged
    assert merged <= shown.crawl.story.kin
    assert (
        sum(reason["count"] for reason in letters["reasons"]) == letters["records"] == len(letters["latest"])
    )
    assert [letter["offset"] for letter in letters["latest"]] == sorted(
        (letter["offset"] for letter in letters["latest"]), reverse=True
    )
    assert [len(shown.demo.get("/v1/dead-letters", limit=each).value["latest"]) for each in (1, 2)] == [1, 2]


@pytest.mark.parametrize("path", ["/v1/merges", "/v1/dead-letters"])
def test_without_kafka_its_endpoints_are_unavailable(shown: Shown, path: str) -> None:
    assert shown.many.get(path).status == 503


def test_the_overview_has_the_figures_of_the_api(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo)

    clusters, hosts = shown.demo.get("/v1/clusters").value, shown.demo.get("/v1/hosts").value
    letters = shown.demo.get("/v1/dead-letters").value
    figures = page.locator(".stat-value").all_text_contents()
    duplicates = hosts["pages"] - clusters["clusters"]
    expected = (clusters["clusters"], hosts["pages"], duplicates, letters["records"])
    assert figures == [f"{each:,}" for each in expected]
    for heading, first in (
        ("Biggest clusters", clusters["largest"][0]["representative"]["url"]),
        ("Hosts with most duplicates", hosts["hosts"][0]["host"]),
        ("Dead letters by reason", letters["reasons"][0]["reason"]),
    ):
        assert first in page.get_by_role("region", name=heading).inner_text()


def test_a_page_is_found_by_its_url_with_the_keyboard_alone(shown: Shown, look: Look) -> None:
    representative = syndicated(1)[0][0].decode()
    page = look.at(shown.demo)

    page.get_by_role("searchbox").focus()
    page.keyboard.type(representative)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page")

    expect(page.get_by_role("heading", level=1)).to_be_focused()
    answer = shown.demo.get("/v1/pages", url=representative).value
    assert page.locator("tbody tr").count() == len(answer["matches"]) + len(answer["containers"])
    assert "representative" in page.get_by_role("region", name="Standing").inner_text()
    assert page.title() == "Page · neardup-stream"


def test_a_page_that_is_not_stored_can_be_compared_instead(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo, page_view("https://nowhere.example/"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Not stored")
    page.get_by_role("link", name="Compare it as text").click()

    expect(page.locator("#first-url")).to_have_value("https://nowhere.example/")


def test_the_list_of_a_cluster_has_every_member_once(shown: Shown, look: Look) -> None:
    page = look.at(shown.many, f"clusters/{cluster_id(shown.many, 'https://large.example/0')}")

    for count in (200, LARGE_CLUSTER_PAGES):
        page.get_by_role("button", name="Show more").press("Enter")
        expect(page.locator("tbody tr")).to_have_count(count)

    urls = page.locator("tbody tr .address").all_text_contents()
    assert sorted(urls) == sorted(f"https://large.example/{each}" for each in range(LARGE_CLUSTER_PAGES))
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_the_graph_of_a_cluster_is_reached_with_arrow_keys_and_always_the_same(
    shown: Shown, look: Look
) -> None:
    view = f"clusters/{cluster_id(shown.demo, syndicated(1)[0][0].decode())}?show=graph"
    places = []
    for _ in range(2):
        page = look.at(shown.demo, view)
        nodes = page.locator(".node")
        places.append([node.get_attribute("transform") for node in nodes.all()])
    assert len(set(places[0])) == nodes.count() == 24
    assert places[0] == places[1]

    page.locator(".node[tabindex='0']").focus()
    reached = {page.locator(".node:focus").get_attribute("aria-label")}
    for _ in range(nodes.count() - 1):
        page.keyboard.press("ArrowRight")
        reached.add(page.locator(".node:focus").get_attribute("aria-label"))
    assert len(reached) == nodes.count()

    last = page.locator(".node:focus title").text_content() or "none"
    assert last in page.locator(".graph-detail").inner_text()
    page.locator(".graph-detail").get_by_role("link", name="Compare with").click()
    expect(page.get_by_role("heading", name="They match")).to_be_visible()


def test_no_link_of_a_graph_hides_another(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo, f"clusters/{cluster_id(shown.demo, HOSTILE[0])}?show=graph")

    assert page.locator(".link.further").count() > 0
    hidden = """links => links.filter(link => {
        const length = link.getTotalLength();
        const places = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(tenth => link.getPointAtLength(tenth / 10 * length));
        return places.every(at => links.some(other => other !== link && other.isPointInStroke(at)));
    }).length"""
    assert page.locator(".link").evaluate_all(hidden) == 0


def test_of_a_large_cluster_the_graph_shows_some_and_says_so(shown: Shown, look: Look) -> None:
    page = look.at(shown.many, f"clusters/{cluster_id(shown.many, 'https://large.example/0')}?show=graph")

    assert page.locator(".node").count() == GRAPH_PAGES
    assert page.locator(".link").count() == GRAPH_PAGES - 1
    assert f"{LARGE_CLUSTER_PAGES - GRAPH_PAGES} further pages not drawn" in page.locator("main").inner_text()


def test_ten_thousand_clusters_are_counted_and_the_largest_listed(shown: Shown, look: Look) -> None:
    page = look.at(shown.many)
    assert page.locator(".stat-value").first.inner_text() == f"{CLUSTERS:,}"
    assert (
        page.get_by_role("region", name="Newest merges").locator(".notice").count() == 1
    )  # there is no Kafka

    page = look.at(shown.many, "clusters")
    assert page.locator("tbody tr").count() == 200
    assert str(LARGE_CLUSTER_PAGES) in page.locator("tbody tr").first.inner_text()
    assert f"200 of {CLUSTERS:,} clusters, the largest." in page.locator("main").inner_text()
    page = look.at(shown.many, "hosts")
    assert page.locator("tbody tr").count() == 200
    assert "200 hosts, those with most duplicates. There may be more." in page.locator("main").inner_text()
    assert "There may be more" not in look.at(shown.demo, "hosts").locator("main").inner_text()


@pytest.mark.parametrize("width", [320, 1100, 1280])
def test_the_screen_never_scrolls_sideways_and_a_wide_table_does_with_the_keyboard(
    shown: Shown, look: Look, width: int
) -> None:
    look.page.set_viewport_size({"width": width, "height": 720})
    page = look.page
    scrolling = 0
    for view in ("", "clusters", "hosts", "merges", "dead-letters", page_view(syndicated(1)[0][0].decode())):
        look.at(shown.demo, view)
        assert page.evaluate("document.scrollingElement.scrollWidth") == width
        for frame in page.locator(".table-frame").all():
            is_wide = frame.evaluate("each => each.scrollWidth > each.clientWidth")
            scrolling += is_wide
            named = frame.evaluate("each => each.matches('[tabindex=\"0\"][role=region][aria-label]')")
            assert named == is_wide
    assert (scrolling > 0) == (width == 320)


@pytest.mark.parametrize("width", [768, 1000, 1100])
def test_the_menu_takes_one_line_on_all_but_small_screens(shown: Shown, look: Look, width: int) -> None:
    look.page.set_viewport_size({"width": width, "height": 720})
    links = look.at(shown.demo).locator("#views a")

    assert len(set(links.evaluate_all("links => links.map((each) => each.offsetTop)"))) == 1


def test_two_stored_pages_are_compared_with_the_figures_of_the_api(shown: Shown, look: Look) -> None:
    first, second = (syndicated(24)[at][0].decode() for at in (0, 20))
    page = look.at(shown.demo, compare_view(first, second))

    answer = shown.demo.ask("GET", f"/v1/explain?url={quote(first)}&url={quote(second)}", None).value
    figures = page.locator(".gauge .figure").all_text_contents()
    names = ("resemblance", "first_in_second", "second_in_first")
    shares = [round(answer["estimated"][name] * 100, 1) for name in names]
    assert [float(figure.split("%")[0]) for figure in figures] == pytest.approx(shares, abs=0.051)
    assert page.locator(".bit.differs").count() == answer["distance_bits"]
    assert answer["words"][0] in page.get_by_role("region", name="Verdict").inner_text()
    assert page.locator(".words li").all_text_contents() == answer["words"][1:]


def test_what_two_given_texts_share_is_marked_word_by_word(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo, "compare")
    fill_in(page, "first", "Text", "alpha beta gamma delta epsilon zeta\nonly in the first one here")
    fill_in(page, "second", "Text", "beta gamma delta epsilon\nanother line of the second one")
    page.get_by_role("button", name="Compare").click()

    expect(page.locator(".text mark")).to_have_text(["beta gamma delta epsilon", "beta gamma delta epsilon"])
    expect(page.locator(".text-lines p")).to_have_count(4)


def test_a_page_that_is_missing_from_a_comparison_is_asked_for(shown: Shown, look: Look) -> None:
    page, second = look.at(shown.demo, "compare"), "#second-url"
    fill_in(page, "first", "Text", "alpha beta gamma delta epsilon zeta")
    page.get_by_role("button", name="Compare").click()
    assert page.locator(second).evaluate("field => field.validationMessage") != ""
    assert page.locator(".verdict").count() == 0

    fill_in(page, "second", "Text", "alpha beta gamma delta epsilon zeta")
    page.get_by_role("button", name="Compare").click()

    expect(page.locator(".verdict")).to_be_visible()
    assert page.locator(second).evaluate("field => field.validationMessage") == ""


def test_the_frame_of_a_site_is_greyed_out_in_given_pages(shown: Shown, look: Look) -> None:
    framed = shown.crawl.framed
    html = {
        json.loads(record.value)["url"]: json.loads(record.value)["html"]
        for record in shown.crawl.records
        if record.value is not None and record.key.decode() in framed.articles
    }
    (first, second), page = list(html)[:2], look.at(shown.demo, "compare")
    for name, url in (("first", first), ("second", second)):
        page.locator(f"#{name}-url").fill(url)
        fill_in(page, name, "HTML", html[url])
    page.get_by_role("button", name="Compare").click()

    expect(page.get_by_role("heading", name="No match")).to_be_visible()
    for column in page.locator(".text").all():
        lines, frames = column.locator("p:not(.frame)"), column.locator("p.frame")
        assert frames.count() > lines.count() > 0


def test_names_of_hostile_pages_are_text_wherever_they_are_shown(shown: Shown, look: Look) -> None:
    for view in hostile_views(shown):
        page = look.at(shown.demo, quote(view, safe="/?=&%"))
        assert page.locator("main script, main img, main iframe, main style, main form[action]").count() == 0
        assert page.evaluate("window.injected") is None
        links = page.locator("main a").evaluate_all("all => all.map(a => [a.href, a.rel, a.target])")
        for href, rel, target in links:
            outside = not href.startswith(f"http://127.0.0.1:{shown.demo.port}/#/")
            assert not outside or href.startswith("https://")
            assert (rel, target) == (("noreferrer noopener", "_blank") if outside else ("", ""))
        assert not INVISIBLE & set(page.locator("main").inner_text())

    cluster = look.at(shown.demo, f"clusters/{cluster_id(shown.demo, HOSTILE[0])}")
    names = cluster.locator("tbody .address").all_text_contents()
    assert names == [name.replace("\u202e", "\\u{202E}") for name in HOSTILE]


def test_the_reason_of_a_dead_letter_is_spelled_out(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo, "dead-letters")

    spelled = HOSTILE_REASON.replace("\u202e", "\\u{202E}").replace("\u200b", "\\u{200B}")
    assert spelled in page.locator("main code").all_text_contents()


def test_given_texts_are_spelled_out(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo, "compare")
    for name in ("first", "second"):
        fill_in(page, name, "Text", f"words of a page {'hidden'.join(INVISIBLE)}")
    page.get_by_role("button", name="Compare").click()

    text = page.locator(".text-lines").first
    expect(text).to_contain_text("hidden".join(f"\\u{{{ord(each):X}}}" for each in INVISIBLE))
    assert not INVISIBLE & set(text.inner_text())


def test_given_markup_is_shown_as_text_and_never_runs(shown: Shown, look: Look) -> None:
    hostile = (
        "<p>visible words of a page</p><script>window.injected = true</script><img src=x onerror=alert(1)>"
    )
    page = look.at(shown.demo, "compare")
    fill_in(page, "first", "HTML", hostile)
    fill_in(page, "second", "Text", hostile)
    page.get_by_role("button", name="Compare").click()

    expect(page.locator(".text-lines").first).to_have_text("visible words of a page")
    expect(page.locator(".text-lines").last).to_have_text(hostile)
    assert page.locator("main script, main img").count() == 0


def test_the_policy_stops_scripts_and_markup_that_would_get_in_nevertheless(
    shown: Shown, browser: Browser
) -> None:
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{shown.demo.port}/")
    page.wait_for_selector(READY)

    page.evaluate(
        """() => {
            const script = document.createElement("script");
            try { script.textContent = "window.injected = true" } catch { window.refused = true }
            document.body.append(script);
            const link = document.createElement("a");
            try { link.setAttribute("onclick", "window.injected = true") } catch { window.refused = true }
            document.body.append(link);
            link.click();
            const markup = () => document.body.insertAdjacentHTML("beforeend", "<b>markup</b>");
            try { markup() } catch { window.refused = true }
        }"""
    )

    assert page.evaluate("[window.injected, window.refused]") == [None, True]
    page.close()


def test_every_file_of_the_page_is_served_with_headers_that_allow_nothing_else(shown: Shown) -> None:
    html = shown.locked.text("/")
    assert "<script>" not in html
    assert " style=" not in html
    for path in ("/", "/web/index.html", "/web/main.js", "/web/base.css", "/web/icon.svg"):
        answer = shown.locked.get(path)  # without the token: the page asks for it
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert shown.demo.get("/", {"Host": "evil.example"}).status == 421
    assert shown.demo.get("/web/../server.py").status == shown.demo.get("/web/none.js").status == 404


def test_the_token_is_asked_for_and_stays_in_the_tab(shown: Shown, look: Look) -> None:
    page = look.at(shown.locked)
    for token in ("wrong", TOKEN):
        expect(page.get_by_role("heading", level=1)).to_have_text("Token needed")
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        if token == "wrong":  # noqa: S105 - of this test
            expect(page.get_by_role("alert")).to_have_text("The server refused this token.")

    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert page.evaluate("Object.keys(sessionStorage).length") == 1
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0
    assert TOKEN not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_a_form_that_is_sent_without_a_valid_token_leads_to_the_form_for_it(shown: Shown, look: Look) -> None:
    page = look.at(shown.locked)
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.get_by_role("link", name="Compare", exact=True).click()
    for name in ("first", "second"):
        fill_in(page, name, "Text", "alpha beta gamma")
    page.evaluate("sessionStorage.clear()")

    page.get_by_role("button", name="Compare").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Token needed")


def test_a_server_that_stops_is_reported_and_asked_again(shown: Shown, look: Look) -> None:
    page = look.at(shown.demo)
    page.route("**/v1/**", lambda route: route.abort())
    page.get_by_role("link", name="Hosts", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")

    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Hosts with most duplicates")


OF_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.mark.parametrize(
    ("scheme", "rules"), [("light", None), ("dark", OF_COLOURS)], ids=["light, all rules", "dark, contrast"]
)
def test_no_view_violates_a_rule_of_axe(
    shown: Shown, browser: Browser, scheme: Literal["light", "dark"], rules: dict[str, object] | None
) -> None:
    first, second = (syndicated(24)[at][0].decode() for at in (0, 20))
    cluster = f"clusters/{cluster_id(shown.demo, first)}"
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    look, axe = Look(open_tab(context), []), Axe()
    views = ["", "clusters", "merges", "hosts", "dead-letters", "compare", "nothing"]
    views += [
        cluster,
        f"{cluster}?show=graph",
        page_view(second),
        page_view("none"),
        compare_view(first, second),
    ]
    for api, view in (*((shown.demo, view) for view in views), (shown.locked, ""), (shown.many, "")):
        page = look.at(api, view)
        found = axe.run(page, options=rules).response["violations"]
        assert not found, (view, json.dumps(found, indent=1))
    page = look.at(shown.demo, "compare")
    for name in ("first", "second"):
        fill_in(page, name, "Text", f"one two three four five\nand {name}")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".text mark")
    assert not axe.run(page, options=rules).response["violations"]
    context.close()
