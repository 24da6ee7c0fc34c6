// Shows the view that the fragment of the address names, and the form for the token where one is needed.

import { hasToken, keepToken, Problem } from "./api.js";
import { append, element, viewOf } from "./dom.js";
import { showCluster } from "./cluster.js";
import { showCompare } from "./compare.js";
import { showClusters, showDeadLetters, showHosts, showMerges } from "./lists.js";
import { showOverview } from "./overview.js";
import { showPage } from "./page.js";
import { announce, empty, failure, heading } from "./parts.js";

const main = document.getElementById("main");
const search = document.getElementById("search");
let shown = new AbortController();
let hasMoved = false; // whether the user has left the first view

const VIEWS = [
  [/^$/, showOverview],
  [/^page$/, showPage],
  [/^clusters$/, showClusters],
  [/^clusters\/([0-9a-f.]+)$/, showCluster],
  [/^merges$/, showMerges],
  [/^hosts$/, showHosts],
  [/^dead-letters$/, showDeadLetters],
  [/^compare$/, showCompare],
];

async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [path, query] = split(location.hash);
  markCurrent(path);
  main.setAttribute("aria-busy", "true");
  const view = element("div", { class: "view" });
  try {
    await render(path, new URLSearchParams(query), view, signal);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error instanceof Problem && error.status === 401) view.replaceChildren(...tokenForm());
    else view.replaceChildren(heading("No answer"), failure(error, show));
    if (!(error instanceof Problem)) console.error(error);
  }
  if (signal.aborted) return;
  main.replaceChildren(view);
  main.setAttribute("aria-busy", "false");
  const title = view.querySelector("h1");
  document.title = title ? `${title.textContent} · neardup-stream` : "neardup-stream";
  announce(document.title);
  if (hasMoved) title?.focus({ preventScroll: true });
  if (hasMoved) scrollTo(0, 0);
}

async function render(path, query, view, signal) {
  for (const [pattern, showView] of VIEWS) {
    const found = pattern.exec(path);
    if (found) {
      await showView({ view, query, signal, name: found[1] });
      return;
    }
  }
  append(view, heading("No such view"), empty("There is nothing here", "The navigation above lists all views."));
}

function split(hash) {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function markCurrent(path) {
  for (const link of document.querySelectorAll("#views a")) {
    const own = link.getAttribute("href").slice(2);
    const isCurrent = own === path || (own !== "" && path.startsWith(`${own}/`));
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function tokenForm() {
  const input = element("input", {
    id: "token", name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false",
  });
  const keep = (event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    show();
  };
  const wasWrong = hasToken();
  keepToken("");
  return [
    heading("Token needed"),
    element("form", { class: "card narrow", on: { submit: keep } },
      wasWrong && element("p", { class: "notice bad", role: "alert" }, "The server refused this token."),
      element("label", { for: "token" }, "Token"), input,
      element("p", { class: "muted" },
        "The token of api.token or api.token_file. It stays in this tab until the tab is closed, and is sent to this server alone."),
      element("button", { type: "submit", class: "primary" }, "Continue")),
  ];
}

search.addEventListener("submit", (event) => {
  event.preventDefault();
  const name = search.elements.namedItem("name");
  if (name.value.trim()) location.hash = viewOf("page", { url: name.value.trim() });
  name.value = "";
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment names the view
  main.focus();
});

// Buttons and forms of a view send requests after it is shown; no caller awaits those.
addEventListener("unhandledrejection", (event) => {
  const { reason } = event;
  if (reason?.name === "AbortError") event.preventDefault();
  if (!(reason instanceof Problem) || reason.status !== 401) return;
  event.preventDefault();
  main.replaceChildren(element("div", { class: "view" }, tokenForm()));
  main.querySelector("input").focus();
});

addEventListener("hashchange", () => {
  hasMoved = true;
  show();
});
show();
