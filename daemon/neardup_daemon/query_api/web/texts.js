// Two texts side by side: what they share marked, and the frame of their sites greyed out.

import { element } from "./dom.js";
import { share } from "./format.js";

/** Return the columns of the texts that an answer of `/v1/compare` has. */
export function showTexts({ first_text: first, second_text: second }) {
  return [
    element("p", { class: "muted" },
      first && second
        ? "Marked words are in a shingle that both texts have. "
        : "One page is stored, and its text is not kept: nothing can be marked. ",
      "Grey lines are frame: they are not compared by content."),
    element("div", { class: "texts" }, column("First", first), column("Second", second)),
  ];
}

function column(name, text) {
  if (!text) {
    return element("div", { class: "text" }, element("h3", {}, name), element("p", { class: "empty" }, "The text of a stored page is not kept."));
  }
  const id = `text-${name.toLowerCase()}`;
  return element("div", { class: "text" },
    element("h3", { id }, name, element("span", { class: "muted small" }, ` ${share(sharedShare(text))} of its characters marked`)),
    element("div", { class: "text-lines", tabindex: "0", role: "region", "aria-labelledby": id }, text.lines.map(line)),
    text.is_cut && element("p", { class: "notice" }, "Only the beginning of the text is shown and marked (api.shown_characters)."));
}

function line({ parts, is_frame: isFrame }) {
  return element("p", { class: isFrame ? "frame" : null, dir: "auto" },
    isFrame && element("span", { class: "hidden" }, "Frame: "),
    parts.map((part) => (part.is_shared ? element("mark", {}, part.text) : part.text)));
}

function sharedShare({ lines }) {
  let marked = 0;
  let all = 0;
  for (const { parts } of lines) {
    for (const { text, is_shared: isShared } of parts) {
      all += text.length;
      if (isShared) marked += text.length;
    }
  }
  return all ? marked / all : 0;
}
