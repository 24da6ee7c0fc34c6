// Asks the query API. The token, where one is needed, stays in this tab: in its session storage.

const TOKEN = "neardup-token";

/** An answer that is a problem document, or no answer at all (status 0). */
export class Problem extends Error {
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
    this.title = title;
  }
}

/** Keep the token of the next requests; an empty one removes it. */
export function keepToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

/** Return whether requests carry a token. */
export function hasToken() {
  return Boolean(sessionStorage.getItem(TOKEN));
}

/** Ask with GET; parameters that are lists are repeated. */
export function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, each);
  }
  const text = query.toString();
  return answered(text ? `${path}?${text}` : path, { signal });
}

/** Send a value as JSON with POST. */
export function post(path, value, signal = undefined) {
  const body = JSON.stringify(value);
  return answered(path, { method: "POST", body, signal, headers: { "Content-Type": "application/json" } });
}

async function answered(path, options) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "No answer", "The server cannot be reached. Check that it runs, then try again.");
  }
  const value = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (response.ok) return value;
  throw new Problem(response.status, value.title ?? response.statusText, value.detail);
}
