/** Addresses of views: #/topic/17?lambda=0.4. */

/** Read an address. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view = "", id = null] = path.split("/");
  return {
    view: decoded(view),
    id: id === null ? null : decoded(id),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % is a text, too
  }
}

/** Write an address; a parameter that is null or "" is left out. */
export function address(view, id = null, query = {}) {
  const path = id === null ? view : `${view}/${encodeURIComponent(id)}`;
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${path}${text && `?${text}`}`;
}

/** Note parameters in the address of the view that is open, without opening it again. */
export function note(query) {
  const route = parse(location.hash);
  const wanted = address(route.view, route.id, { ...route.query, ...query });
  try {
    history.replaceState(history.state, "", wanted);
  } catch {
    // where a page has no address of its own nothing can be noted
  }
}

/** Open a view. */
export function open(view, id, query) {
  location.hash = address(view, id, query);
}
