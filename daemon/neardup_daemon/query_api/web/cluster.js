// One cluster: its members as a list or as a graph.

import { get } from "./api.js";
import { append, element, viewOf } from "./dom.js";
import { counted, number } from "./format.js";
import { showGraph } from "./graph.js";
import { announce, compareLink, empty, fact, failure, heading, pageCell, pill, section, tableFrame } from "./parts.js";

const MEMBERS_AT_ONCE = 100;

/** Show the cluster that the path names; `show=graph` of the query shows the graph. */
export async function showCluster({ view, query, signal, name }) {
  const path = `/v1/clusters/${name}`;
  const isGraph = query.get("show") === "graph";
  let cluster;
  try {
    cluster = await get(path, { limit: isGraph ? 1 : MEMBERS_AT_ONCE }, signal);
  } catch (error) {
    if (error.status !== 404 && error.status !== 422) throw error;
    append(view, heading("No such cluster", element("p", { class: "lead" }, element("code", {}, name))),
      empty("No cluster with this id is known", "It may have been removed with its pages. A search for a page shows the cluster it is in now."));
    return;
  }
  const { representative } = cluster;
  append(view,
    heading(`Cluster of ${counted(cluster.size, "page")}`),
    section("Representative",
      element("p", { class: "lead" }, pageCell(representative)),
      element("p", { class: "muted" }, "The page to keep. All others of the cluster are its duplicates."),
      element("dl", { class: "facts in-row" },
        fact("Cluster", element("code", {}, cluster.id)),
        cluster.id !== name && fact("Asked for", element("code", {}, name), ", which was absorbed"),
        fact("Version", number(representative.version)),
        fact("Epoch", number(cluster.epoch)))),
    element("nav", { class: "tabs", "aria-label": "Show the members as" },
      tab("List", name, "", !isGraph), tab("Graph", name, "graph", isGraph)),
  );
  if (isGraph) append(view, await showGraph(cluster, signal));
  else append(view, section("Members", ...memberList(path, cluster, signal)));
}

function tab(text, name, show, isCurrent) {
  return element("a", { href: viewOf(`clusters/${name}`, { show }), "aria-current": isCurrent && "page" }, text);
}

function memberList(path, cluster, signal) {
  const body = element("tbody");
  const below = element("div", { class: "below" });
  let count = 0;
  const add = (answer) => {
    body.append(...answer.members.map((member) => memberRow(member, cluster.representative)));
    count += answer.members.length;
    const said = element("span", { class: "muted" }, `${number(count)} of ${counted(cluster.size, "page")}`);
    const more = answer.next && element("button", { type: "button", on: { click: () => next(answer.next) } }, "Show more");
    below.replaceChildren(said, ...(more ? [more] : []));
    return said.textContent;
  };
  const next = async (after) => {
    const pressed = below.querySelector("button");
    pressed?.setAttribute("aria-disabled", "true");
    try {
      announce(add(await get(path, { limit: MEMBERS_AT_ONCE, after }, signal)));
      below.querySelector("button")?.focus();
    } catch (error) {
      if (error.status === 401) throw error; // main.js shows the form for the token
      if (error.name !== "AbortError") below.replaceChildren(failure(error, () => next(after)));
    }
  };
  add(cluster);
  return [
    tableFrame("Members of the cluster, the representative first",
      element("thead", {}, element("tr", {},
        ["Page", "Role", "State", "Version"].map((text) => element("th", { scope: "col", class: text === "Version" ? "right" : "" }, text)),
        element("th", { scope: "col" }, element("span", { class: "hidden" }, "Comparison")))),
      body),
    below,
  ];
}

function memberRow(member, representative) {
  return element("tr", {},
    element("th", { scope: "row" }, pageCell(member)),
    element("td", {}, pill(member.is_representative ? "representative" : "duplicate")),
    element("td", {}, pill(member.state)),
    element("td", { class: "right" }, number(member.version)),
    element("td", { class: "right" }, !member.is_representative && compareLink(representative.id, member.id)));
}
