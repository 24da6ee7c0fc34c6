// Builds elements. Every text becomes a text node and every link is checked, so that no markup, script or
// style of a crawled page can enter the document.

const SVG = "http://www.w3.org/2000/svg";
const WEB = /^(https?:\/\/)([^/?#\\]+)([^]*)$/i;
const OWN_LINK = /^(#\/|\/openapi\.json$)/;

// Characters that cannot be seen, or that change the direction of what follows: controls, format characters
// (bidirectional overrides, zero-width spaces), lone surrogates, line and paragraph separators, what fonts draw
// as nothing (fillers, variation selectors), and the Braille pattern without dots.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Return a text in which characters that cannot be seen are spelled out: for attributes; elements do it themselves. */
export function visible(text) {
  return String(text).replace(INVISIBLE, (found) => `\\u{${found.codePointAt(0).toString(16).toUpperCase()}}`);
}

/**
 * Return a new element.
 *
 * Attributes whose value is null, undefined or false are left out; `on` maps events to listeners.
 * Children are nodes, texts, or lists of them; null and false are left out.
 */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Return a new SVG element; see `element`. */
export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (name.startsWith("on") || name === "style" || name === "srcdoc" || name === "src") {
      throw new TypeError(`the attribute ${name} is never set`);
    } else if (name === "href" && !OWN_LINK.test(value)) {
      throw new TypeError(`${value} is no link of this page; use crawledLink`);
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(made, ...children);
  return made;
}

/** Append nodes and texts, and lists of them; null and false are left out. Texts are made visible. */
export function append(parent, ...children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, ...child);
    else if (typeof child === "string") parent.append(visible(child));
    else if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
}

/** Return whether a browser may open an address of a crawled page: http and https alone. */
export function isOpenable(url) {
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** Return a link to a crawled page in a tab of its own, or null where its URL is neither http nor https. */
export function crawledLink(url) {
  if (!isOpenable(url)) return null;
  const link = element("a", {
    class: "outside",
    rel: "noreferrer noopener",
    target: "_blank",
    title: "Open the crawled page in a new tab",
  }, "Open ↗");
  link.setAttribute("aria-label", `Open ${visible(url)} in a new tab`);
  link.href = new URL(url).href;
  return link;
}

/** Return text of a crawled page on one line, isolated from the direction of the text around it. */
export function quoted(text) {
  return element("bdi", { class: "quoted" }, String(text));
}

/** Return a URL or an id as text; of a URL the host stands out, because it says whose page it is. */
export function address(text) {
  const [, scheme, host, path] = WEB.exec(text) ?? [null, "", "", text];
  return element("bdi", { class: "address", dir: "ltr" },
    scheme && element("span", { class: "scheme" }, scheme),
    host && element("span", { class: "host" }, host),
    path);
}

/** Return a link to the view of a stored page. */
export function pageLink(id, url = id) {
  return element("a", { href: viewOf("page", { url: id }), class: "address-link" }, address(url));
}

/** Return the fragment of a view with its parameters. */
export function viewOf(view, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}
