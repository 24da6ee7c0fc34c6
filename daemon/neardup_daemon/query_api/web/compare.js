// Two pages side by side: stored ones by URL or id, others as text or HTML that is pasted and not stored.

import { get, post } from "./api.js";
import { showComparison } from "./comparison.js";
import { append, element, viewOf } from "./dom.js";
import { announce, failure, heading } from "./parts.js";

const GIVEN_URLS = { first: "https://first.invalid/", second: "https://second.invalid/" };

/** Show the form, and the comparison of the pages that the query names. */
export async function showCompare({ view, query, signal }) {
  const names = { first: query.get("first") ?? "", second: query.get("second") ?? "" };
  const results = element("div", { class: "results" });
  const sides = { first: side("first", "First page", names.first), second: side("second", "Second page", names.second) };
  const submit = async (event) => {
    event.preventDefault();
    if (!(sides.first.isGiven() && sides.second.isGiven())) return;
    const given = { first: sides.first.value(), second: sides.second.value() };
    if (given.first.content === undefined && given.second.content === undefined) {
      const target = viewOf("compare", { first: given.first.url, second: given.second.url });
      if (location.hash !== target) location.hash = target;
      else await fill(results, () => explained(names, signal));
      return;
    }
    await fill(results, () => post("/v1/compare", { first: page(given, "first"), second: page(given, "second") }, signal));
    results.querySelector("h2")?.focus();
  };
  append(view,
    heading("Compare two pages", element("p", { class: "lead muted" },
      "Texts of stored pages are not kept: their fingerprints and sketches are compared. Paste text or HTML to see what two pages share, word by word.")),
    element("form", { class: "card", id: "compare", novalidate: true, on: { submit } },
      element("div", { class: "columns" }, sides.first.node, sides.second.node),
      element("p", { class: "below" }, element("button", { type: "submit", class: "primary" }, "Compare"))),
    results);
  if (names.first && names.second) await fill(results, () => explained(names, signal));
}

function explained(names, signal) {
  return get("/v1/explain", { url: [names.first, names.second] }, signal);
}

async function fill(results, ask) {
  results.setAttribute("aria-busy", "true");
  try {
    results.replaceChildren(...showComparison(await ask()));
    announce("The comparison is shown below the form.");
  } catch (error) {
    if (error.name === "AbortError" || error.status === 401) throw error; // for main.js
    results.replaceChildren(failure(error, () => fill(results, ask)));
  }
  results.setAttribute("aria-busy", "false");
}

function page(given, name) {
  const { url, content, kind } = given[name];
  if (content === undefined) return { url };
  return { url: url || GIVEN_URLS[name], [kind]: content };
}

function side(name, title, url) {
  const address = element("input", {
    id: `${name}-url`, name: `${name}-url`, type: "text", value: url, maxlength: "4096", spellcheck: "false",
    autocapitalize: "off", placeholder: "https://… or an id",
  });
  const content = element("textarea", { id: `${name}-content`, name: `${name}-content`, rows: "6", spellcheck: "false" });
  const kinds = ["text", "html"].map((kind) => element("label", { class: "choice" },
    element("input", { type: "radio", name: `${name}-kind`, value: kind, checked: kind === "text" }), kind === "text" ? "Text" : "HTML"));
  const pasted = element("details", {},
    element("summary", {}, "Paste its content instead"),
    element("fieldset", {}, element("legend", { class: "hidden" }, `Content of the ${title.toLowerCase()}`),
      element("p", { class: "choices" }, kinds),
      element("label", { for: `${name}-content`, class: "hidden" }, `Content of the ${title.toLowerCase()}`), content,
      element("p", { class: "muted small" }, "Compared and not stored. With a URL above, the frame of its site is taken out.")));
  const node = element("div", { class: "side" },
    element("label", { for: `${name}-url` }, title, element("span", { class: "muted small" }, " URL or id")), address, pasted);
  const value = () => ({
    url: address.value.trim(),
    content: pasted.open && content.value.trim() ? content.value : undefined,
    kind: node.querySelector("input[type=radio]:checked").value,
  });
  /** Return whether there is something to compare; else say at the field what is missing. */
  const isGiven = () => {
    const { url, content } = value();
    address.setCustomValidity(url || content ? "" : "Enter a URL or an id, or paste a content below.");
    return address.reportValidity();
  };
  return { node, value, isGiven };
}
