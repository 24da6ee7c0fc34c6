// Turns figures into words.

const NUMBER = new Intl.NumberFormat("en");
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const SPANS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** Return a number with separators. */
export function number(value) {
  return NUMBER.format(value);
}

/** Return a count with its noun: 1 page, 2 pages. */
export function counted(value, noun, plural = `${noun}s`) {
  return `${NUMBER.format(value)} ${value === 1 ? noun : plural}`;
}

/** Return a ratio in percent; a dash where it is unknown. */
export function share(ratio) {
  return ratio === undefined || ratio === null ? "–" : SHARE.format(ratio);
}

/** Return how long ago a time was. */
export function ago(rfc3339, now = Date.now()) {
  const seconds = (Date.parse(rfc3339) - now) / 1000;
  if (Number.isNaN(seconds)) return rfc3339;
  const [unit, length] = SPANS.find(([, each]) => Math.abs(seconds) >= each) ?? ["second", 1];
  return AGO.format(Math.round(seconds / length), unit);
}

/** Return a decimal 64-bit fingerprint as 16 hexadecimal digits. */
export function hexadecimal(fingerprint) {
  return BigInt(fingerprint).toString(16).padStart(16, "0");
}

/** Return the last part of a URL's path, or its host, for places with little room. */
export function shortName(url, most = 28) {
  let name = url;
  try {
    const parsed = new URL(url);
    name = parsed.pathname.split("/").filter(Boolean).at(-1) ?? parsed.host;
    name = decodeURIComponent(name);
  } catch {
    // an id that is no URL, or bad percent encoding: the name as it is
  }
  const letters = Array.from(name);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}
