// The first view: how much is duplicated, and where.

import { get, Problem } from "./api.js";
import { append, element } from "./dom.js";
import { number, share } from "./format.js";
import { clusterTable, hostTable, mergeTable, reasonBars, surveyed } from "./lists.js";
import { failure, heading, section } from "./parts.js";

const SHOWN = 6;

/** Show all lists in short. Each part fails alone: Kafka or Redis may be unavailable. */
export async function showOverview({ view, signal }) {
  const [clusters, hosts, merges, letters] = await Promise.all([
    part("/v1/clusters", signal), part("/v1/hosts", signal), part("/v1/merges", signal), part("/v1/dead-letters", signal),
  ]);
  append(view,
    heading("Overview", !clusters.problem && surveyed(clusters, "Near-duplicates")),
    stats(clusters, hosts, letters),
    element("div", { class: "columns" },
      list("Biggest clusters", clusters, () => clusterTable(clusters.largest), "#/clusters"),
      list("Hosts with most duplicates", hosts, () => hostTable(hosts.hosts), "#/hosts"),
      list("Newest merges", merges, () => mergeTable(merges.merges), "#/merges"),
      list("Dead letters by reason", letters, () => reasonBars(letters.reasons), "#/dead-letters")));
}

async function part(path, signal) {
  try {
    return await get(path, { limit: SHOWN }, signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status === 401) throw error;
    return { problem: error };
  }
}

function list(title, answer, show, target) {
  const made = section(title, answer.problem ? unavailable(answer.problem) : show());
  if (!answer.problem) made.append(element("p", { class: "below" }, element("a", { href: target }, `All: ${title.toLowerCase()}`)));
  return made;
}

function unavailable(problem) {
  const node = failure(problem);
  node.removeAttribute("role"); // four at once would interrupt each other
  return node;
}

function stats(clusters, hosts, letters) {
  const isKnown = !clusters.problem && !hosts.problem;
  const duplicates = isKnown ? hosts.pages - clusters.clusters : 0;
  const about = isKnown && !hosts.is_complete ? "at least " : "";
  return element("dl", { class: "stats" },
    stat("Clusters", isKnown ? about + number(clusters.clusters) : "–", "of two pages or more"),
    stat("Pages in clusters", isKnown ? about + number(hosts.pages) : "–", "representatives and duplicates"),
    stat("Duplicates", isKnown ? about + number(duplicates) : "–", isKnown && hosts.pages ? `${share(duplicates / hosts.pages)} of these pages` : "pages that need not be kept"),
    stat("Dead letters", letters.problem ? "–" : number(letters.records) + (letters.is_complete ? "" : "+"), "records that are no pages"));
}

function stat(name, value, note) {
  return element("div", { class: "stat" }, element("dt", {}, name), element("dd", {}, element("span", { class: "stat-value" }, value), element("span", { class: "muted small" }, note)));
}
