// One stored page: what is known of it, its cluster, and what it matches.

import { get } from "./api.js";
import { address, append, crawledLink, element, viewOf } from "./dom.js";
import { counted, hexadecimal, number, share } from "./format.js";
import { bar, clusterLink, compareLink, empty, fact, failure, heading, moment, pageCell, pill, section, table } from "./parts.js";

/** Show the page that `url` of the query names. */
export async function showPage({ view, query, signal }) {
  const name = query.get("url") ?? "";
  if (!name) {
    append(view, heading("No page named"), empty("Name a page", "Enter its URL or its id in the search field above."));
    return;
  }
  let answer;
  try {
    answer = await get("/v1/pages", { url: name }, signal);
  } catch (error) {
    if (error.status !== 404 && error.status !== 422) throw error;
    append(view, heading("Not stored", element("p", { class: "lead" }, address(name))),
      error.status === 404
        ? empty("No page of this URL or id is stored", "A page with an id of its own is found by that id. A page that was never crawled can be compared as text.",
          element("p", {}, element("a", { href: viewOf("compare", { first: name }) }, "Compare it as text or HTML")))
        : failure(error));
    return;
  }
  const { page, cluster } = answer;
  append(view,
    heading("Page", element("p", { class: "lead" }, address(page.url), " ", crawledLink(page.url))),
    element("div", { class: "columns" },
      section("Standing", standing(page, cluster)),
      section("Stored", facts(page))),
    section("Matches", matches(answer)),
    answer.archived.length > 0 && section("In archives", archived(answer.archived)),
  );
}

function standing(page, cluster) {
  const isRepresentative = cluster !== null && cluster.representative.id === page.id;
  if (cluster === null) {
    return [
      element("p", {}, pill(page.state)),
      element("p", {}, page.state === "short"
        ? "The page has fewer tokens than verdict.min_tokens. It matches nothing and is in no cluster."
        : "The page is in no cluster."),
    ];
  }
  if (cluster.size === 1) {
    return [element("p", {}, pill("unique")), element("p", {}, "No other page matches. It is a cluster of its own: ",
      element("a", { href: viewOf(`clusters/${cluster.id}`) }, element("code", {}, cluster.id)), ".")];
  }
  return [
    element("p", {}, pill(isRepresentative ? "representative" : "duplicate")),
    element("p", {}, isRepresentative ? "This page is kept of " : "One of ",
      element("a", { href: viewOf(`clusters/${cluster.id}`) }, counted(cluster.size, "page")),
      isRepresentative ? " that are duplicates of each other." : " that are duplicates of each other. The representative is"),
    !isRepresentative && element("p", {}, clusterLink(cluster)),
    !isRepresentative && element("p", {}, compareLink(page.id, cluster.representative.id, "Compare with the representative")),
  ];
}

function facts(page) {
  return element("dl", { class: "facts" },
    page.id !== page.url && fact("Id", address(page.id)),
    fact("State", pill(page.state)),
    page.version !== undefined && fact("Version", number(page.version)),
    page.state !== "short" && page.state !== "gone" && fact("Fingerprint", element("code", {}, hexadecimal(page.fingerprint))),
    page.shingles !== undefined && fact("Shingles", `${number(page.shingles)}, of which content ${number(page.content_shingles)}`),
    fact("Frame", page.frame_share === undefined ? "no line is known as frame" : `${share(page.frame_share)} of its shingles, not compared`),
    page.scope && fact("Scope", address(page.scope)));
}

function matches({ page, matches: found, containers, is_truncated: isTruncated }) {
  const all = [...found, ...containers];
  if (!all.length) {
    return empty("No matches", page.state === "short" ? "Pages that are too short are not compared." : "No stored page is alike enough.");
  }
  return [
    table("Pages that this page matches", ["Page", "Kind", "Resemblance", "This in other", "Other in this", ["Bits", "right"], [element("span", { class: "hidden" }, "Comparison"), "right"]],
      all.map((match) => [
        pageCell(match), pill(match.kind), bar(match.resemblance), bar(match.containment), bar(match.contained_in),
        number(match.distance_bits), compareLink(page.id, match.id),
      ])),
    isTruncated && element("p", { class: "muted" }, "More pages may match: many are this near, and only some were read."),
  ];
}

function archived(entries) {
  return table("Frozen pages that this page is like", ["Page", "Archive", "Fetched", "Kind", "Resemblance"],
    entries.map((match) => [address(match.url), address(match.archive), moment(match.fetched_at), pill(match.kind), bar(match.resemblance)]));
}
