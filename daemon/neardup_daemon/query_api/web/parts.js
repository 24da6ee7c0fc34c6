// Parts that several views share.

import { address, crawledLink, element, pageLink, viewOf, visible } from "./dom.js";
import { ago, number, share } from "./format.js";

const KINDS = {
  exact: ["exact", "The same text, token for token"],
  near: ["near", "A near-duplicate"],
  contained: ["contained", "Most of one page is inside the other; no match"],
  representative: ["representative", "The page to keep of its cluster"],
  duplicate: ["duplicate", "Another page is the representative of its cluster"],
  unique: ["unique", "No other page matches"],
  unlike: ["no match", "Below the thresholds"],
  undecided: ["undecided", "Too short to be compared"],
  short: ["too short", "Fewer tokens than verdict.min_tokens: matches nothing"],
  archived: ["archived", "Matches frozen archives and is left to them"],
  expiring: ["expiring", "About to expire"],
  gone: ["gone", "Forgotten or expired"],
  live: ["live", "Indexed: other pages may match it"],
  other_scope: ["other scope", "Pages are compared within one verdict.scope"],
  same_page: ["same page", "Both are one page"],
};

/** Return a label of a kind of match, a verdict or a state. */
export function pill(kind) {
  const [text, title] = KINDS[kind] ?? [kind, ""];
  return element("span", { class: `pill ${KINDS[kind] ? `kind-${kind}` : ""}`, title }, text);
}

/** Return the head of a view, which takes the focus when the view is shown. */
export function heading(text, ...below) {
  return element("div", { class: "heading" }, element("h1", { tabindex: "-1" }, text), below);
}

/** Return a section with its own heading. */
export function section(title, ...children) {
  const id = `section-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, title), children);
}

/** Return what stands where a list is empty. */
export function empty(title, text, ...below) {
  return element("div", { class: "empty" }, element("p", { class: "empty-title" }, title), element("p", {}, text), below);
}

/** Return a problem with its remedy, and a button where trying again may help. */
export function failure(problem, retry = null) {
  const again = retry && (problem.status === 0 || problem.status === 429 || (problem.status >= 500 && problem.status !== 501));
  return element("div", { class: "notice bad", role: "alert" },
    element("p", { class: "empty-title" }, problem.title ?? "The page has failed"),
    element("p", {}, problem.message),
    again && element("button", { type: "button", on: { click: retry } }, "Try again"));
}

/** Return a share as a number beside a bar; `mark` is a threshold on the bar. */
export function bar(ratio, className = "") {
  if (ratio === undefined || ratio === null) return element("span", { class: "muted" }, "–");
  const filled = element("span", { class: "bar-filled" });
  filled.style.width = `${Math.max(0, Math.min(1, ratio)) * 100}%`;
  return element("span", { class: `bar ${className}` },
    element("span", { class: "bar-track", "aria-hidden": "true" }, filled),
    element("span", { class: "bar-figure" }, share(ratio)));
}

/** Return a time, exact in its title. */
export function moment(rfc3339) {
  return element("time", { datetime: rfc3339, title: rfc3339 }, ago(rfc3339));
}

/** Return a term and its description for a list of facts; nothing where there is no value. */
export function fact(term, ...value) {
  if (value.every((each) => each === null || each === undefined || each === false || each === "")) return null;
  return element("div", { class: "fact" }, element("dt", {}, term), element("dd", {}, value));
}

/** Return a table whose cells are nodes or texts; `columns` are names, or [name, class]. */
export function table(caption, columns, rows) {
  const named = columns.map((column) => (Array.isArray(column) ? column : [column, ""]));
  return tableFrame(caption,
    element("thead", {}, element("tr", {},
      named.map(([name, className]) => element("th", { scope: "col", class: className }, name)))),
    element("tbody", {}, rows.map((cells) => element("tr", {},
      cells.map((cell, at) => element(at ? "td" : "th", { scope: at ? null : "row", class: named[at][1] }, cell))))));
}

/** Return a table that scrolls sideways where it is wider than the screen, and takes the focus only then. */
export function tableFrame(caption, ...groups) {
  const frame = element("div", { class: "table-frame" },
    element("table", {}, element("caption", { class: "hidden" }, caption), groups));
  new ResizeObserver(() => {
    const own = frame.scrollWidth > frame.clientWidth ? { tabindex: "0", role: "region", "aria-label": caption } : {};
    for (const name of ["tabindex", "role", "aria-label"]) {
      if (own[name]) frame.setAttribute(name, own[name]);
      else frame.removeAttribute(name);
    }
  }).observe(frame);
  return frame;
}

/** Return a page's address with its links: its view here, and the crawled page itself. */
export function pageCell(page) {
  return element("span", { class: "page-cell" },
    pageLink(page.id, page.url),
    page.id !== page.url && element("span", { class: "muted small" }, "id ", address(page.id)),
    crawledLink(page.url));
}

/** Return a link that compares two pages. */
export function compareLink(first, second, text = "Compare") {
  const link = element("a", { href: viewOf("compare", { first, second }) }, text);
  link.setAttribute("aria-label", `Compare with ${visible(second)}`);
  return link;
}

/** Return a link to a cluster: its size and the address of its representative. */
export function clusterLink(cluster) {
  return element("a", { href: viewOf(`clusters/${cluster.id}`), class: "address-link" },
    address(cluster.representative.url));
}

/** Return bars of counts, each with a name before and the count behind. */
export function countBars(label, entries) {
  const most = Math.max(1, ...entries.map(({ count }) => count));
  return element("ol", { class: "count-bars", "aria-label": label }, entries.map(({ name, count, note }) => {
    const filled = element("span", { class: "bar-filled" });
    filled.style.width = `${(count / most) * 100}%`;
    return element("li", {},
      element("span", { class: "count-name" }, name, note && element("span", { class: "muted small" }, note)),
      element("span", { class: "bar-track", "aria-hidden": "true" }, filled),
      element("span", { class: "count-figure" }, number(count)));
  }));
}

/** Show text to screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}
