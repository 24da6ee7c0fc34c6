// The pages of a cluster and the matches between them, as a drawing that the keyboard reaches.

import { get } from "./api.js";
import { append, drawn, element, visible } from "./dom.js";
import { counted, number, share, shortName } from "./format.js";
import { placed } from "./layout.js";
import { bar, compareLink, empty, fact, pageCell, pill, section } from "./parts.js";

const LABELLED = 30; // labels of more pages would cover each other
const LABEL_ROOM = 150;
const MARGIN = 32;
const BOW = 0.2; // how far a further link bends, as a share of its length
const MOST_SCALE = 1.35; // a drawing of few pages is not blown up

/** Return the section that shows the graph of a cluster. */
export async function showGraph(cluster, signal) {
  const graph = await get(`/v1/clusters/${cluster.id}/links`, {}, signal);
  if (!graph.pages.length) return section("Graph", empty("No pages", "The pages of the cluster were removed a moment ago."));
  const detail = element("div", { class: "graph-detail", "aria-live": "polite" });
  const drawing = draw(graph, detail);
  return section("Graph",
    element("p", { class: "muted" }, summary(graph)),
    element("div", { class: "graph-columns" }, element("div", { class: "graph-frame" }, drawing), detail),
    legend());
}

function summary({ pages, links, matching_pairs: pairs, size, is_forest: isForest }) {
  const further = size - pages.length;
  return [
    further > 0 ? `The ${number(pages.length)} pages that joined first; ${counted(further, "further page")} not drawn. ` : "",
    `${counted(pairs, "pair")} of these pages ${pairs === 1 ? "matches" : "match"}`,
    isForest ? `; only the ${number(links.length)} strongest matches that link all pages are drawn. ` : ". ",
    "Arrow keys move between pages.",
  ].join("");
}

function legend() {
  const item = (name, text) => element("li", {}, element("span", { class: `swatch ${name}`, "aria-hidden": "true" }), text);
  return element("ul", { class: "legend", "aria-label": "Legend" },
    item("representative", "representative"), item("exact", "exact copy of the page nearer to the middle"),
    item("near", "near-duplicate of it"), item("loose", "match that does not link clusters by itself"));
}

function draw(graph, detail) {
  const { pages, links } = graph;
  const tree = treeOf(pages, links);
  const nodes = placed(tree.parents, tree.root);
  const isLabelled = pages.length <= LABELLED;
  const sides = isLabelled ? LABEL_ROOM : MARGIN;
  const [left, right] = [Math.min(...nodes.map(({ x }) => x)) - sides, Math.max(...nodes.map(({ x }) => x)) + sides];
  const [top, bottom] = [Math.min(...nodes.map(({ y }) => y)) - MARGIN, Math.max(...nodes.map(({ y }) => y)) + MARGIN];
  const lines = links.map((link) => line(link, nodes, tree));
  const marks = pages.map((page, at) => mark(page, nodes[at], at, tree, isLabelled));
  const drawing = drawn("svg", {
    viewBox: `${left} ${top} ${right - left} ${bottom - top}`,
    class: pages.length > LABELLED ? "graph dense" : "graph", role: "group",
    "aria-label": `Graph of ${counted(pages.length, "page")} and ${counted(links.length, "match", "matches")}`,
  }, drawn("g", {}, lines), drawn("g", {}, marks));
  drawing.style.maxWidth = `${MOST_SCALE * (right - left)}px`;
  const order = readingOrder(nodes, tree.root);
  const choose = (at) => {
    marks.forEach((each, other) => {
      each.setAttribute("tabindex", other === at ? "0" : "-1");
      each.classList.toggle("chosen", other === at);
    });
    lines.forEach((each, other) => each.classList.toggle("chosen", links[other].first === at || links[other].second === at));
    detail.replaceChildren();
    append(detail, details(graph, at, tree));
  };
  marks.forEach((each, at) => {
    each.addEventListener("focus", () => choose(at));
    each.addEventListener("click", () => each.focus());
    each.addEventListener("keydown", (event) => {
      const next = neighbour(event.key, at, order, nodes, tree);
      if (next === undefined) return;
      event.preventDefault();
      marks[next].focus();
    });
  });
  choose(tree.root);
  return drawing;
}

// The links whose pages hang together through them: the server sends them first.
function treeOf(pages, links) {
  const root = Math.max(0, pages.findIndex((page) => page.is_representative));
  const parents = pages.map(() => -1);
  const through = pages.map(() => null);
  for (const link of links) {
    if (link.is_tree) {
      parents[link.second] = link.first;
      through[link.second] = link;
    }
  }
  return { root, parents, through };
}

function line(link, nodes, tree) {
  const [from, to] = [nodes[link.first], nodes[link.second]];
  const kind = link.kind === "exact" ? "exact" : link.is_firm === false ? "loose" : "near";
  const isOfTree = tree.through[link.second] === link;
  const way = isOfTree ? `L ${to.x} ${to.y}` : `Q ${bowed(from, to)} ${to.x} ${to.y}`;
  return drawn("path", { d: `M ${from.x} ${from.y} ${way}`, class: `link ${kind} ${isOfTree ? "" : "further"}` });
}

// Where a further link bends: beside the straight line, which may run through other pages and along their links.
function bowed(from, to) {
  const [across, along] = [to.x - from.x, to.y - from.y];
  return `${(from.x + to.x) / 2 - BOW * along} ${(from.y + to.y) / 2 + BOW * across}`;
}

function mark(page, { x, y }, at, tree, isLabelled) {
  const link = tree.through[at];
  const kind = page.is_representative ? "representative" : link?.kind ?? "loose";
  const label = isLabelled && drawn("text", {
    x: x < -1 ? -13 : 13, y: page.is_representative ? -15 : 4, "text-anchor": x < -1 ? "end" : "start",
  }, shortName(page.url, 20));
  return drawn("g", {
    class: `node ${kind}`, transform: `translate(${x} ${y})`, tabindex: "-1", role: "img",
    "aria-label": page.is_representative ? `${visible(page.url)}, representative` : `${visible(page.url)}, ${kind}`,
  },
  drawn("title", {}, page.url),
  drawn("circle", { r: page.is_representative ? 10 : 7 }), label);
}

function readingOrder(nodes, root) {
  const order = nodes.map((_, at) => at).filter((at) => at !== root);
  const angle = ({ x, y }) => (Math.atan2(y, x) + 2.5 * Math.PI) % (2 * Math.PI);
  order.sort((one, other) => nodes[one].depth - nodes[other].depth || angle(nodes[one]) - angle(nodes[other]) || one - other);
  return [root, ...order];
}

function neighbour(key, at, order, nodes, tree) {
  const place = order.indexOf(at);
  const last = order.length - 1;
  switch (key) {
    case "ArrowRight": return order[place === last ? 0 : place + 1];
    case "ArrowLeft": return order[place === 0 ? last : place - 1];
    case "ArrowUp": return tree.parents[at] >= 0 ? tree.parents[at] : undefined;
    case "ArrowDown": return nodes[at].children[0];
    case "Home": return order[0];
    case "End": return order[last];
    default: return undefined;
  }
}

function details({ pages, links }, at, tree) {
  const page = pages[at];
  const link = tree.through[at];
  const parent = link && pages[tree.parents[at]];
  const own = links.filter((each) => each.first === at || each.second === at).length;
  return [
    element("p", { class: "detail-title" }, pageCell(page)),
    element("p", {}, pill(page.is_representative ? "representative" : link ? link.kind : "duplicate")),
    element("dl", { class: "facts" },
      parent && fact("Linked to", element("span", { class: "address" }, parent.url)),
      link && link.resemblance !== undefined && fact("Resemblance", bar(link.resemblance)),
      link && fact("Differing bits", `${link.distance_bits} of 64`),
      link && link.is_firm !== undefined && fact("Firm", link.is_firm ? "yes: it links clusters by itself" : "no: other matches support it"),
      fact("Drawn matches", number(own))),
    parent && element("p", {}, compareLink(parent.id, page.id, `Compare${link.resemblance === undefined ? "" : ` (${share(link.resemblance)})`}`)),
  ];
}
