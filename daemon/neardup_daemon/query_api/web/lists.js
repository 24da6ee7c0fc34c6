// The lists: biggest clusters, newest merges, hosts with most duplicates, dead letters by reason.

import { get } from "./api.js";
import { address, append, element, quoted, viewOf } from "./dom.js";
import { counted, number } from "./format.js";
import { bar, clusterLink, countBars, empty, heading, moment, section, table } from "./parts.js";

const LIST_LIMIT = 200;

/** Show the biggest clusters. */
export async function showClusters({ view, signal }) {
  const answer = await get("/v1/clusters", { limit: LIST_LIMIT }, signal);
  append(view,
    heading("Biggest clusters", surveyed(answer, counted(answer.clusters, "cluster") + " of two pages or more")),
    section("Clusters", clusterTable(answer.largest), cut(answer.largest, answer.clusters, "cluster", "the largest")));
}

/** Show the newest merges of clusters. */
export async function showMerges({ view, signal }) {
  const answer = await get("/v1/merges", { limit: LIST_LIMIT }, signal);
  append(view,
    heading("Newest merges", element("p", { class: "muted" },
      `Of the latest ${counted(answer.records, "record")} of the topic `, address(answer.topic), answer.is_complete ? ", which are all." : ".")),
    section("Merges", mergeTable(answer.merges), cut(answer.merges, undefined, "merge", "the newest")));
}

/** Show the hosts with most duplicates. */
export async function showHosts({ view, signal }) {
  const answer = await get("/v1/hosts", { limit: LIST_LIMIT }, signal);
  append(view,
    heading("Hosts with most duplicates", surveyed(answer, `${counted(answer.pages, "page")} in clusters`)),
    section("Hosts", hostTable(answer.hosts), cut(answer.hosts, undefined, "host", "those with most duplicates")));
}

/** Show dead letters by reason, and the latest of them. */
export async function showDeadLetters({ view, signal }) {
  const answer = await get("/v1/dead-letters", { limit: LIST_LIMIT }, signal);
  append(view,
    heading("Dead letters", element("p", { class: "muted" },
      `Records that can never become pages. Of the latest ${counted(answer.records, "record")} of the topic `, address(answer.topic),
      answer.is_complete ? ", which are all." : ".")),
    section("By reason", reasonBars(answer.reasons)),
    section("Latest", answer.latest.length
      ? table("The latest dead letters, newest first", ["Reason", "Detail", "Key", "Record", ["When", "fixed"]], answer.latest.map((letter) => [
        element("code", {}, letter.reason),
        quoted(letter.detail),
        letter.key === undefined ? element("span", { class: "muted" }, "none") : address(letter.key),
        quoted(`${letter.topic}/${letter.partition}@${letter.offset}`),
        moment(letter.time),
      ]))
      : empty("No dead letters", "Every record so far could become a page."),
    cut(answer.latest, answer.records, "dead letter", "the latest")));
}

/** Return a table of clusters; the bar of each is its size against the largest. */
export function clusterTable(clusters) {
  if (!clusters.length) return empty("No clusters", "No two pages match yet. A new survey is made after api.survey_seconds.");
  const most = Math.max(...clusters.map((cluster) => cluster.size));
  return table("Clusters, the largest first", ["Representative", "Pages"], clusters.map((cluster) => [
    clusterLink(cluster), sizeBar(cluster.size, most)]));
}

/** Return a table of merges. */
export function mergeTable(merges) {
  if (!merges.length) return empty("No merges", "No page has matched two clusters among these events.");
  return table("Merges, the newest first", ["Surviving cluster", "Absorbed representative", ["Pages", "right"], "When"],
    merges.map((merge) => [
      clusterLink(merge.survivor),
      element("a", { href: viewOf("page", { url: merge.absorbed.representative.id }), class: "address-link" }, address(merge.absorbed.representative.url)),
      number(merge.survivor.size), moment(merge.time),
    ]));
}

/** Return a table of hosts. */
export function hostTable(hosts) {
  if (!hosts.length) return empty("No duplicates", "No page of a cluster is a duplicate yet.");
  const most = Math.max(...hosts.map((host) => host.duplicates));
  return table("Hosts, those with most duplicates first", ["Host", "Duplicates", ["Clusters", "right"], ["Frame", "fixed"]], hosts.map((host) => [
    address(host.host), sizeBar(host.duplicates, most), number(host.representatives), frame(host.frame)]));
}

/** Return bars of the reasons of dead letters. */
export function reasonBars(reasons) {
  if (!reasons.length) return empty("No dead letters", "Every record so far could become a page.");
  return countBars("Dead letters by reason", reasons.map(({ reason, count }) => ({ name: element("code", {}, reason), count })));
}

/** Return the sentence that says when a survey was made and what it read. */
export function surveyed(answer, what) {
  return element("p", { class: "muted" }, `${what}, surveyed `, moment(answer.surveyed_at),
    answer.is_complete ? "." : ". The survey stopped at api.survey_pages: there are more.");
}

// The line below a list that is cut; where the number of all entries is unknown, there may be more.
function cut(shown, all, noun, which) {
  if (shown.length < LIST_LIMIT || shown.length >= all) return null;
  const text = all === undefined
    ? `${counted(shown.length, noun)}, ${which}. There may be more.`
    : `${number(shown.length)} of ${counted(all, noun)}, ${which}.`;
  return element("p", { class: "below muted" }, text);
}

function sizeBar(size, most) {
  const made = bar(size / most, "size");
  made.querySelector(".bar-figure").textContent = number(size);
  return made;
}

function frame(facts) {
  if (!facts || !facts.pages) return element("span", { class: "muted" }, "none learned");
  return counted(facts.markup + facts.landmark + facts.text, "line");
}
