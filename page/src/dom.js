/** Elements from script. Text always becomes text: nothing here parses HTML. */

/**
 * Make an element.
 * @param {string} tag
 * @param {object} [properties] attributes, but those that are null or false; `on` has listeners
 * @param {...(Node|string|number|null|Array)} children
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name === "on") listen(element, value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...nodes(children));
  return element;
}

function listen(element, listeners) {
  for (const [name, listener] of Object.entries(listeners)) {
    element.addEventListener(name, listener);
  }
}

/** Children without those that are none. */
export function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined
    && child !== false);
}

/** A text of the user's, kept from turning the direction of what stands around it. */
export const bdi = (text, properties) => h("bdi", properties, text);

/** A text in small steps of waiting: call only when nothing has happened for a while. */
export function settled(call, milliseconds) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

let serial = 0;
/** A name that no other element has. */
export const unique = (stem) => `${stem}-${++serial}`;

/** Whether things may move. */
export const mayMove = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;
