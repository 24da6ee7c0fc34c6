// Why two pages match, or do not: figures against thresholds, fingerprints bit by bit, and texts where given.

import { address, element, quoted, viewOf } from "./dom.js";
import { counted, hexadecimal, number, share } from "./format.js";
import { fact, pageCell, pill, section } from "./parts.js";
import { showTexts } from "./texts.js";

const BITS = 64;
/** A frame of at most so much of either page leaves the threshold of whole texts in force. */
const SMALL_FRAME = 0.5;

/** Return the sections that show an answer of `/v1/explain` or `/v1/compare`. */
export function showComparison(answer) {
  return [
    verdict(answer),
    answer.estimated && section("Shared content", ...estimates(answer)),
    element("div", { class: "columns" },
      answer.distance_bits !== undefined && section("Fingerprints", ...fingerprints(answer)),
      section("Pages", ...pages(answer))),
    (answer.first_text || answer.second_text) && section("Texts", ...showTexts(answer)),
    section("In words", element("ul", { class: "words" }, answer.words.slice(1).map((words) => element("li", {}, quoted(words))))),
    meaning(),
  ].filter(Boolean);
}

function verdict(answer) {
  return element("section", { class: `card verdict ${answer.is_match ? "match" : ""}`, "aria-label": "Verdict" },
    element("h2", { tabindex: "-1" }, answer.is_match ? "They match" : "No match"),
    element("p", {}, pill(answer.verdict), " ", quoted(answer.words[0])));
}

function estimates({ estimated, counted, exact, thresholds, first, second, view, whole_texts: whole }) {
  const hasLargeFrame = Math.max(first.frame_share, second.frame_share) > SMALL_FRAME; // not where one is unknown
  const inside = view === "content" && hasLargeFrame ? ["verdict.content_containment", thresholds.content_containment] : ["verdict.near_containment", thresholds.near_containment];
  const rows = [
    ["Resemblance", "what both have, of what either has", "resemblance", ["verdict.near_resemblance", thresholds.near_resemblance]],
    ["First inside second", "the share of the first page that the second has too", "first_in_second", inside],
    ["Second inside first", "the share of the second page that the first has too", "second_in_first", inside],
  ];
  const isFramed = whole !== undefined;
  return [
    element("p", { class: "muted" },
      `Estimated from sketches of ${isFramed && view === "content" ? "the contents, without the frames of their sites" : "the whole texts"}. `,
      "The pale band is the standard error: two estimates in three are within it. The line marks the threshold of a match."),
    element("div", { class: "gauges" }, rows.map(([name, note, field, bound]) => gauge({
      name, note, value: estimated[field], error: estimated[`${field}_error`], bound, exact: exact?.[field], counted: counted?.[field],
    }))),
  ];
}

function gauge({ name, note, value, error, bound: [setting, least], exact, counted }) {
  const band = element("span", { class: "gauge-band" });
  const low = Math.max(0, value - error);
  band.style.insetInlineStart = `${low * 100}%`;
  band.style.width = `${(Math.min(1, value + error) - low) * 100}%`;
  const filled = element("span", { class: `gauge-filled ${value >= least ? "reached" : ""}` });
  filled.style.width = `${value * 100}%`;
  const mark = element("span", { class: "gauge-mark" });
  mark.style.insetInlineStart = `${least * 100}%`;
  return element("div", { class: "gauge" },
    element("div", { class: "gauge-name" }, element("strong", {}, name), element("span", { class: "muted small" }, note)),
    element("div", { class: "gauge-track", "aria-hidden": "true" }, filled, band, mark),
    element("div", { class: "gauge-figures" },
      element("span", { class: "figure" }, `${share(value)} ± ${share(error)}`),
      element("span", { class: "muted small" }, `${value >= least ? "reaches" : "below"} ${setting} ${share(least)}`),
      counted !== undefined && counted !== value && element("span", { class: "muted small" }, `the match counts with ${share(counted)}, because of the content`),
      exact !== undefined && element("span", { class: "muted small" }, `${share(exact)} exactly, of the whole texts`)));
}

function fingerprints({ first, second, distance_bits: distance, thresholds, tables, archive_keys: keys }) {
  const one = BigInt(first.fingerprint);
  const other = BigInt(second.fingerprint);
  const cells = Array.from({ length: BITS }, (_, at) => {
    const shift = BigInt(BITS - 1 - at);
    const bit = (one >> shift) & 1n;
    const differs = bit !== ((other >> shift) & 1n);
    return element("span", { class: `bit ${bit ? "set" : ""} ${differs ? "differs" : ""}` });
  });
  const met = tables && [
    tables.simhash.length > 0 && `simhash tables ${tables.simhash.join(", ")} of ${tables.simhash_count}`,
    tables.bands.length > 0 && `bands ${tables.bands.join(", ")} of ${tables.band_count}`,
  ].filter(Boolean).join(" and ");
  return [
    element("div", { class: "bits", role: "img", "aria-label": `${distance} of ${BITS} bits differ` }, cells),
    element("p", { class: "muted small" }, "Each square is a bit of the first fingerprint; a marked one differs in the second."),
    element("dl", { class: "facts" },
      fact("Differing bits", `${distance} of ${BITS}; index.distance_bits is ${thresholds.distance_bits}`),
      fact("First", element("code", {}, hexadecimal(first.fingerprint))),
      fact("Second", element("code", {}, hexadecimal(second.fingerprint))),
      tables && fact("Found through", met || (tables.whole_bands_unknown
        ? "no stored table; bands of a whole text are not stored"
        : "no table: neither page is found when the other comes")),
      keys && fact("Archive keys", keys.join(", ") || "none in common"))
  ];
}

function pages({ first, second, clusters, is_one_cluster: isOne }) {
  return [first, second].map((page, at) => {
    const cluster = clusters?.[at];
    return element("div", { class: "compared" },
      element("p", {}, element("strong", {}, at ? "Second " : "First "), page.is_stored || page.version ? pageCell(page) : address(page.url)),
      element("dl", { class: "facts" },
        fact("State", pill(page.state)),
        page.shingles !== undefined && fact("Shingles", number(page.shingles)),
        fact("Frame", page.frame_share === undefined ? "no line is known as frame" : `${share(page.frame_share)} of its shingles`),
        cluster && fact("Cluster", element("a", { href: viewOf(`clusters/${cluster.id}`) }, counted(cluster.size, "page")),
          isOne ? ", the same for both" : ""),
        page.archive && fact("Archive", address(page.archive))));
  });
}

function meaning() {
  return element("details", { class: "card" }, element("summary", {}, "What the figures mean"),
    element("dl", { class: "meaning" },
      term("Fingerprint", "64 bits on which the words of a page vote. Pages with almost the same words have almost the same bits. Pages within index.distance_bits are found through the simhash tables."),
      term("Shingle", "A sequence of three words, unless sketch.shingle_tokens says otherwise. What two pages share is counted in shingles, repeats included."),
      term("Sketch", "A small sample of a page's shingles, drawn the same way for every page. Two sketches estimate what the texts share; the larger the sample, the smaller the standard error."),
      term("Frame", "Lines that a site repeats on other pages: header, navigation, footer. They are left out before contents are compared."),
      term("Resemblance", "Shared shingles of all distinct shingles of both pages. Symmetric."),
      term("Containment", "The share of one page's shingles that the other has too. A match needs most of both pages.")));
}

function term(name, text) {
  return element("div", { class: "fact" }, element("dt", {}, name), element("dd", {}, text));
}
